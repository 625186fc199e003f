/** What the processes of the demo are called. */

const OWNERS = ['ada', 'ben', 'cyd', 'dan', 'eve', 'fay', 'gus', 'hal'];
const FRONT_ENDS = ['north', 'south', 'east', 'west'];

export const nameOfManager = (index: number): string => `m${index + 1}`;

export const nameOfOwner = (index: number): string => OWNERS[index] ?? `owner-${index + 1}`;

export const nameOfFrontEnd = (index: number): string => FRONT_ENDS[index] ?? `front-end-${index + 1}`;
