/**
 * Ends a process, or a group of processes, if we die first, or stand still for longer than the time that we allowed.
 *
 * The watchman is a shell that listens to us. We name the target, the watchman confirms, and from then on we say again
 * and again for how much longer all is well; in the end, that all is over. Each message replaces the one before:
 *
 *     we        ├─ 5 s ──────├─ 5 s ──────├─ 5 s ── stopped, or blocked in a write that nobody reads
 *     watchman   ├───────────×├───────────×├─────────────────────────┤ SIGKILL
 *
 * If the input ends without the last message, we are dead. Then the target is asked to end, and killed at the end of
 * the grace period or of the last allowed time, whichever comes first.
 *
 * The allowed time is a duration, because a shell has no clock to compare. The duration is counted from when the
 * message is read, which is later than when we sent the message. So the watchman subtracts a little. The watchman
 * counts by the clock of `sleep`, which stops while the machine is suspended: after a suspension we have to notice,
 * and if we stand still then, too, the target lives too long.
 *
 * The watchman outlives the things that would end us: the watchman is in a session of its own, and ignores the signals
 * that are sent to all processes of a service to stop the service. A SIGKILL to all of them kills the target as well.
 *
 * The timer is a process that only sleeps, and a process that waits for the sleeping one, since a shell cannot wait
 * for input and for time together. A replaced timer ends the sleeping process and is waited for, so that no process is
 * left over, neither asleep nor dead; and neither process has our pipes open, or we would take the timer for the
 * watchman.
 *
 * Once the watchman itself is killed, nothing can replace a timer any more. That timer must not kill the target, whose
 * lease may be renewed all the time. So a timer checks, when the time is over, whether the watchman is still the
 * timer's parent:
 *
 *     watchman  ├────────× SIGKILL: we say that nobody watches
 *     timer      ├─────────────────┤ has another parent by now, and kills nobody
 *
 * And if somebody kills the sleeping process, the timer sleeps anew: late, but not before the time.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import process from 'node:process';
import { pause } from '../event-stream.ts';

/**
 * A timer whose time is over becomes this shell, because only a new shell reads the present parent: in a forked shell
 * `PPID` is still the parent of the shell that forked.
 */
const KILL = `
[ "$PPID" = "$1" ] || exit
kill -s KILL -- "$2"
kill -s ALRM "$1"
`;

/**
 * SIGALRM has two meanings between these: from the watchman, that a timer is replaced; from a timer, that the timer
 * has killed the target. If we died, we do not read the answer either; that must not end the watchman. And a watchman
 * without a `sleep` cannot watch, so the watchman is killed, and we notice the end.
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

/** The longest time, on a machine that is not too busy, from the message to a running timer. */
const TO_BEGIN_MS = 20;
/** Far more than the watchman needs to hear that all is over, unless somebody has stopped the watchman. */
const TO_ANSWER_MS = 1_000;

export class Watchman implements AsyncDisposable {
  /** Undefined if the shell could not even be started. */
  readonly #child: ChildProcess | undefined;
  /** Resolves with how the watchman ended. */
  readonly #ended: Promise<NodeJS.Signals | number | undefined>;
  #lastWord = '';
  #end: Promise<boolean | undefined> | undefined;

  /** @param graceMs how long the target may take to end when told to */
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
   * Resolves with true when the watchman has confirmed, and with false if there is no watchman.
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

  /** The target may live for so long from here on, unless another message follows. */
  allow(forMs: number): void {
    if (this.#end !== undefined || !this.isThere) return;
    this.#child?.stdin?.write(`${inSeconds(Math.max(0, forMs - TO_BEGIN_MS))}\n`);
  }

  /**
   * Tells the watchman that all is over, and resolves when the watchman has ended: with whether the watchman killed
   * the target before, because the time was over; undefined without an answer within a second, because somebody has
   * stopped the watchman.
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

  /** Together with the timer: they are a group. */
  #kill(): void {
    try {
      process.kill(-(this.#child?.pid as number), 'SIGKILL');
    } catch {} // The group has just ended.
  }
}

/**
 * The shell's environment has only the path of `sleep`. Our environment may be as large as the system allows, and the
 * script on top would be too much; and some variables change how a shell behaves.
 */
function shell(args: readonly string[]): ChildProcess | undefined {
  const env = { PATH: process.env['PATH'] };
  try {
    return spawn('/bin/sh', args, { env, stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  } catch {
    return undefined; // Some faults are thrown, the rest come as an event.
  }
}

/** Nothing else would send this signal to the watchman. */
const HAS_KILLED = 'SIGALRM';

const inSeconds = (ms: number): string => (ms / 1_000).toFixed(3);
