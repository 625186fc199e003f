/**
 * Ends a process, or a group of them, should we die first, or stand still for longer than we said that it may run.
 *
 * It is a shell that listens to us. It is told whom to end, says that it knows, and from then on is told again and
 * again for how much longer all is well; in the end, that it is over. Each of these words replaces the one before:
 *
 *     we        ├─ 5 s ──────├─ 5 s ──────├─ 5 s ── stopped, or blocked in a write that nobody reads
 *     watchman   ├───────────×├───────────×├─────────────────────────┤ SIGKILL
 *
 * If its input ends without the last word, whoever should have said it is dead. Then the target is asked to end, and
 * killed when its grace is over, or what was said last, whichever comes first.
 *
 * How long is a duration, because a shell has no clock to compare; it is counted from when the word is read, which is
 * later than when it was said. So it takes off a little for that. It counts by the clock of `sleep`, which stands still
 * while the machine does: after a suspension it is for us to notice, and if we stand still then, too, the target lives
 * too long.
 *
 * It outlives what would end us: it is in a session of its own, and takes no notice of the signals that are sent to all
 * processes of a service to stop it. Somebody who kills all of them by SIGKILL kills the target as well.
 *
 * The counting is a process that only sleeps, and one that waits for it, since a shell cannot wait for its input and
 * for time together. Whoever is replaced ends the sleeping one and is waited for, so that none is left over, neither
 * asleep nor dead; and neither has our pipes open, for else we would take it for the watchman.
 *
 * Nobody can replace a timer any more once the watchman itself is killed; it must not kill the target then, whose lease
 * may be renewed all the time. So a timer asks, when its time is over, whether the watchman is still its parent:
 *
 *     watchman  ├────────× SIGKILL: we say that nobody watches
 *     timer      ├─────────────────┤ has another parent by now, and kills nobody
 *
 * And one whose sleep was cut short, by somebody who kills whatever sleeps, sleeps anew: late, but not before the time.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import process from 'node:process';
import { pause } from '../event-stream.ts';

/**
 * A timer whose time is over becomes this, because only a shell that begins asks who its parent is: in one that was
 * forked `PPID` is still what it was in the shell that it was forked from.
 */
const KILL = `
[ "$PPID" = "$1" ] || exit
kill -s KILL -- "$2"
kill -s ALRM "$1"
`;

/**
 * SIGALRM is between these: from the watchman, that a timer is replaced; from a timer, that it has killed the target.
 * Whoever died does not read the answer either; that must not be the end of it. And a watchman that has no `sleep` any
 * more is none: it is killed, so that it is missed.
 */
const SCRIPT = `
trap '' HUP INT QUIT PIPE TERM USR1 USR2
kill_in() {
  (
    none=$!
    trap '[ "$!" = "$none" ] || { kill -s KILL $!; wait $!; }; exit' ALRM
    until sleep "$1" & wait $!; do
      [ $? -gt 128 ] || { kill -s KILL $$; exit; }
    done
    trap '' ALRM
    exec /bin/sh -c "$kill" leasehold-watchman $$ "$target"
  ) </dev/null >/dev/null &
}
cancel() {
  [ -z "$timer" ] || { kill -s ALRM "$timer"; wait "$timer"; }
}
timer=
kill=$2
read target && sleep 0.001 || exit 1
echo watching
while read word; do
  cancel
  [ "$word" != done ] || exit 0
  kill_in "$word"
  timer=$!
done
trap 'kill -s ALRM $timer $!; exit' ALRM
kill -s TERM -- "$target" || { cancel; exit; }
kill_in "$1"
wait
`;

/** What it takes, at most, on a machine that is not too busy, from the word to a timer that runs. */
const TO_BEGIN_MS = 20;
/** Far more than it takes to hear that all is over, unless somebody has stopped it. */
const TO_ANSWER_MS = 1_000;

export class Watchman implements AsyncDisposable {
  /** Undefined if it could not even be tried. */
  readonly #child: ChildProcess | undefined;
  /** Resolves with how it ended. */
  readonly #ended: Promise<NodeJS.Signals | number | undefined>;
  #lastWord = '';
  #end: Promise<boolean | undefined> | undefined;

  /** @param graceMs how long whoever is told to end may take */
  constructor(graceMs: number) {
    const child = shell(['-c', SCRIPT, 'leasehold-watchman', inSeconds(graceMs), KILL]);
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      if (child === undefined) return resolve(undefined);
      child.once('exit', (code, signal) => resolve(signal ?? code ?? undefined));
      child.on('error', () => resolve(undefined)); // Then nobody is there.
      return undefined;
    });
    child?.stdin?.on('error', () => {});
    child?.stdout?.on('error', () => {});
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get isThere(): boolean {
    const child = this.#child;
    return child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
  }

  /**
   * Resolves with true when it knows, and with false if nobody is there.
   *
   * @param target a process, or a group if negative
   * @param gone told if nobody watches any more, other than because the target was killed
   */
  watch(target: number, gone: () => void = () => {}): Promise<boolean> {
    if (!this.isThere) return Promise.resolve(false);
    this.#lastWord = 'done\n';
    this.#child?.stdin?.write(`${target}\n`);
    return new Promise((resolve) => {
      this.#child?.stdout
        ?.once('close', () => resolve(false))
        .once('data', () => {
          resolve(true);
          void this.#ended.then((end) => {
            if (this.#end === undefined && end !== HAS_KILLED) gone();
          });
        });
    });
  }

  /** It may live for so long from here on, unless something else is said before. */
  allow(forMs: number): void {
    if (this.#end !== undefined || !this.isThere) return;
    this.#child?.stdin?.write(`${inSeconds(Math.max(0, forMs - TO_BEGIN_MS))}\n`);
  }

  /**
   * Tells it that all is over, and resolves when it has ended: with whether it has killed the target before that, since
   * its time was over; undefined if it does not say so within a second, because somebody has stopped it.
   */
  end(): Promise<boolean | undefined> {
    return (this.#end ??= this.#sendAway());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  async #sendAway(): Promise<boolean | undefined> {
    this.#child?.stdin?.end(this.#lastWord);
    const answered = new AbortController();
    const end = await Promise.race([this.#ended, pause(TO_ANSWER_MS, answered.signal).then(() => 'late')]);
    answered.abort();
    if (end !== 'late') return end === HAS_KILLED;
    this.#kill();
    return undefined;
  }

  /** With its timer: they are a group. */
  #kill(): void {
    try {
      process.kill(-(this.#child?.pid as number), 'SIGKILL');
    } catch {} // It has just ended.
  }
}

/**
 * Its environment is only where to find `sleep`. Of ours there may be as much as the system allows, and the script on
 * top of it would be more; and a shell does what some of it says.
 */
function shell(args: readonly string[]): ChildProcess | undefined {
  const env = { PATH: process.env['PATH'] };
  try {
    return spawn('/bin/sh', args, { env, stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  } catch {
    return undefined; // Some of what can be wrong is thrown, the rest is an event.
  }
}

/** Nobody else would send it this. */
const HAS_KILLED = 'SIGALRM';

const inSeconds = (ms: number): string => (ms / 1_000).toFixed(3);
