/**
 * The metrics of all handles of a process as one list: a family that several have is one, told apart by the instance.
 *
 *     leasehold_flease_held{cell="workers"} 2
 *     leasehold_flease_held{cell="cron"} 0
 *
 * Two handles of one instance would give one series twice, which Prometheus refuses as a whole; so such handles are refused
 * before anything is served.
 */

import { invalidOption } from '../../runtime/errors.ts';
import { type Family, metricsText as textOf, type Sample } from '../../runtime/metrics-text.ts';
import type { Served, Service } from './service.ts';

export const labelsOf = ({ kind, instance }: Service): Readonly<Record<string, string>> =>
  kind === undefined ? {} : { [kind]: instance };

export function mergedFamilies(services: readonly Service[]): readonly Family[] {
  const families = new Map<string, Family>();
  for (const service of services) {
    const labels = labelsOf(service);
    for (const family of service.metrics()) {
      const own = 'bounds' in family.samples ? family.samples : labelled(family.samples, labels);
      const known = families.get(family.name)?.samples;
      const samples = known === undefined || 'bounds' in known || 'bounds' in own ? own : [...known, ...own];
      families.set(family.name, { ...family, samples });
    }
  }
  return [...families.values()];
}

const labelled = (samples: readonly Sample[], labels: Readonly<Record<string, string>>): readonly Sample[] =>
  samples.map((sample) => ({ value: sample.value, labels: { ...labels, ...sample.labels } }));

/** @throws {InvalidArgumentError} if two services would give the same series */
export function checkSeries(services: readonly Service[]): void {
  const owners = new Map<string, Service>();
  for (const service of services) {
    for (const { name, samples } of service.metrics()) {
      const own = 'bounds' in samples ? [{}] : labelled(samples, labelsOf(service));
      for (const sample of own) {
        const series = `${name} ${JSON.stringify(Object.entries(('labels' in sample && sample.labels) || {}).sort())}`;
        const owner = owners.get(series) ?? service;
        if (owner !== service) throw sameInstance(service);
        owners.set(series, service);
      }
    }
  }
}

export const sameInstance = ({ module, kind, instance }: Service): Error =>
  invalidOption(
    'handles',
    kind === undefined ? module : `${module} ${instance}`,
    'each instance of a module may be there once, since paths and metrics tell handles apart by it',
  );

/**
 * For an application with metrics of its own: the metrics of these handles, in the text format of Prometheus.
 *
 * @throws {InvalidArgumentError} if two of them are of one instance, whose figures could not be told apart
 */
export function metricsText(handles: Served | readonly Served[]): string {
  const services = servicesOf(handles);
  checkSeries(services);
  return textOf(mergedFamilies(services));
}

/** @throws {InvalidArgumentError} if there is no handle, or something else among them */
export function servicesOf(handles: Served | readonly Served[]): readonly Service[] {
  const all: readonly unknown[] = Array.isArray(handles) ? handles : [handles];
  const services = all.map((handle) => {
    if (typeof handle === 'object' && typeof (handle as Partial<Served> | null)?.toService === 'function')
      return (handle as Served).toService();
    throw invalidOption('handles', handle, 'each must be a handle of this toolkit');
  });
  if (services.length === 0) throw invalidOption('handles', 'none', 'there must be a handle to show');
  return services;
}
