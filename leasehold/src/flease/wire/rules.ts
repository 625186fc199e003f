/** How much of anything there can be in a packet. */

/** The longest name of a member or a group, in UTF-16 units, as `length` counts. */
export const NAME_CHARACTERS_MAX = 128;

/** No frame is longer than this and one item; a packet that is longer goes as several. */
export const FRAME_BYTES: number = 256 * 1024;
