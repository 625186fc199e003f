/** `leasehold demo`: starts the scene, shows the scene until the end, and leaves nothing behind. */

import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Context, interruption } from '../context.ts';
import { pause } from '../event-stream.ts';
import { type JsonOption, writeJson, writeLines } from '../output.ts';
import { choosePorts, freePorts } from './ports.ts';
import { killAtExit, Scene } from './scene.ts';
import { jsonScreen, plainScreen, type Screen, terminalScreen } from './screen.ts';
import { stateOf } from './state.ts';

export interface DemoOptions extends JsonOption {
  readonly owners: number;
  readonly managers: number;
  readonly frontEnds: number;
  readonly users: number;
  /** In milliseconds. */
  readonly for?: number;
  readonly port?: number;
  readonly httpPort?: number;
  readonly data?: string;
}

const DRAW_EVERY_MS = 1_000;

export async function runDemo(context: Context, options: DemoOptions): Promise<void> {
  using signal = interruption();
  const say = (text: string): void => {
    if (!options.json) writeLines(context.out, [text]);
  };
  const ports = await choosePorts(options, say);
  const directory = options.data ?? (await mkdtemp(join(tmpdir(), 'leasehold-demo-')));
  const cleanUp = (): void => {
    if (options.data === undefined) rmSync(directory, { recursive: true, force: true });
  };
  using screen = screenFor(context, options);
  const scene = new Scene({
    ...{ ownerCount: options.owners, frontEndCount: options.frontEnds, userCount: options.users },
    replicaPorts: options.managers === 1 ? [] : await freePorts(options.managers),
    ...{ ...ports, directory, calledAs: context.calledAs },
    onNews: (news) => screen.news(news),
  });
  using _ = killAtExit(scene, cleanUp);
  const managers = options.managers === 1 ? 'a Manager' : `${options.managers} Managers`;
  say(`Starting ${managers}, ${options.owners} owners, ${options.frontEnds} front ends and a load …`);
  try {
    await using running = scene;
    await running.start(signal);
    await show(running, screen, options, signal);
    if (!options.json) writeLines(context.out, ['Ending …']);
  } catch (error) {
    if (!signal.aborted || scene.failure.aborted) throw error; // Otherwise the demo was ended while starting.
  } finally {
    cleanUp();
  }
  if (options.json) writeJson(context.out, { ...stateOf(scene), kind: 'end' });
}

async function show(scene: Scene, screen: Screen, options: DemoOptions, signal: AbortSignal): Promise<void> {
  const { for: forMs = Number.POSITIVE_INFINITY } = options;
  const endAt = performance.now() + forMs;
  const over = AbortSignal.any([signal, scene.failure]);
  for (let now = performance.now(); now < endAt && !over.aborted; now = performance.now()) {
    screen.draw(stateOf(scene));
    await pause(Math.min(DRAW_EVERY_MS, endAt - now), over);
  }
  scene.failure.throwIfAborted();
}

function screenFor(context: Context, { json }: DemoOptions): Screen {
  if (json) return jsonScreen(context);
  return context.out.isTerminal ? terminalScreen(context) : plainScreen(context);
}
