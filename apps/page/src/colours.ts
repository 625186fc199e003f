/** An owner's colour goes by its name, so that a restart changes nothing. */

/** Turning by the golden angle, neighbours in a list lie far apart on the wheel, however many there are. */
const GOLDEN_ANGLE = 137.508;
const FIRST_HUE = 210;

const hues = new Map<string, number>();

export const darkness: MediaQueryList = matchMedia('(prefers-color-scheme: dark)');

export const colourOf = (name: string): string =>
  `hsl(${hueOf(name).toFixed(0)} 62% ${darkness.matches ? 62 : 48}%)`;

function hueOf(name: string): number {
  const hue = hues.get(name) ?? (hues.size * GOLDEN_ANGLE + FIRST_HUE) % 360;
  hues.set(name, hue);
  return hue;
}

/** A colour of the style sheet: `--ink`. */
export const styleColour = (variable: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
