/**
 * The end of a turn of the event loop: when all that the sockets have brought has been read, and all that was
 * to be done at once is done. What is put off until then costs nobody time, and can be done for everything together.
 */
export const atEndOfTurn = (callback: () => void): void => {
  setImmediate(callback);
};
