/** How long frames are. */

/** No frame is longer than this and one item; a packet that is longer goes as several. */
export const FRAME_BYTES: number = 256 * 1024;
