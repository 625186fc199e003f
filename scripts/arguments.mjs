/**
 * Command lines: `--flag`, `--name value`, `--name=value`, and words. Whatever is not known is an
 * error that says what was probably meant; a mistyped `--sedes 5000` must not pass quietly with the
 * default.
 */

import { UsageError } from './command.mjs';

/**
 * @template {string} Flag
 * @template {string} Name
 * @param {readonly string[]} argv
 * @param {{ flags: readonly Flag[], values: readonly Name[] }} known
 * @returns {{ words: string[], flags: Set<Flag>, values: Partial<Record<Name, string>> }}
 */
export function parseArguments(argv, known) {
  /** @type {string[]} */
  const words = [];
  /** @type {Set<Flag>} */
  const flags = new Set();
  /** @type {Partial<Record<Name, string>>} */
  const values = {};
  for (let at = 0; at < argv.length; at += 1) {
    const argument = argv[at] ?? '';
    if (!argument.startsWith('-')) {
      words.push(argument);
      continue;
    }
    const [option = '', inline] = splitOnce(argument, '=');
    const flag = known.flags.find((name) => `--${name}` === option);
    const name = known.values.find((name) => `--${name}` === option);
    if (flag !== undefined) {
      if (inline !== undefined) throw new UsageError(`${option} takes no value, but got "${inline}"`);
      flags.add(flag);
    } else if (name !== undefined) {
      const value = inline ?? argv[(at += 1)];
      if (value === undefined) throw new UsageError(`${option} needs a value after it`);
      values[name] = value;
    } else {
      const options = [...known.flags, ...known.values].map((each) => `--${each}`);
      throw new UsageError(`unknown option ${option}${didYouMean(option, options)}`);
    }
  }
  return { words, flags, values };
}

/**
 * @param {string} option
 * @param {string | undefined} text
 * @param {number} least
 * @returns {number | undefined}
 */
export function wholeNumber(option, text, least) {
  if (text === undefined) return undefined;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new UsageError(`${option} must be a whole number of at least ${least}, but is "${text}"`);
}

/**
 * `; did you mean pool?` when one of them is close enough, `; there are …` otherwise.
 *
 * @param {string} word
 * @param {readonly string[]} choices
 */
export function didYouMean(word, choices) {
  let best = '';
  let least = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const choice of choices) {
    const distance = edits(word, choice);
    if (distance < least) [best, least] = [choice, distance];
  }
  if (best !== '') return `; did you mean ${best}?`;
  return choices.length === 0 ? '' : `; there are ${choices.join(', ')}`;
}

/**
 * Letters to insert, delete or change to get from one word to the other.
 *
 * @param {string} a
 * @param {string} b
 */
function edits(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/**
 * @param {string} text
 * @param {string} separator
 */
function splitOnce(text, separator) {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
