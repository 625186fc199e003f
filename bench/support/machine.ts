/**
 * What every measurement should say about where it was made.
 */

import { cpus, loadavg } from 'node:os';
import process from 'node:process';

export function machineConditions(): Record<string, string | number> {
  return {
    node: process.version,
    cpus: cpus().length,
    'cpu model': cpus()[0]?.model ?? 'unknown',
    'load average': `${loadavg()[0]?.toFixed(1)} at the end; more than 1 means that others were at work too`,
  };
}
