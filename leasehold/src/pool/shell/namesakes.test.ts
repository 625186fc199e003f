import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { changesBetween } from '../http/events.ts';
import { ManagerToLookAt } from '../http/source-script.ts';
import type { OwnerObservation } from '../manager/observation.ts';
import { namesakesIn } from './namesakes.ts';

const RENEW_EVERY_MS = 1_500;

/** What is found when the last of these joins the pool; all were heard 400 ms ago. */
function found(joining: (manager: ManagerToLookAt) => void, about: Partial<OwnerObservation> = {}) {
  const manager = new ManagerToLookAt();
  manager.join('presence', 'a');
  manager.join('presence', 'b');
  manager.join('other', 'c');
  manager.about.set('a.1', about);
  const before = manager.state;
  joining(manager);
  let asked = 0;
  const owners = (): readonly OwnerObservation[] => {
    asked += 1;
    return manager.observe().owners;
  };
  const now = instant(manager.nowMs);
  const changes = changesBetween(before, manager.state);
  const pairs = namesakesIn(changes, manager.state, owners, () => RENEW_EVERY_MS, now).map(
    ({ pool, earlier, later, heardAgoMs }) =>
      `${pool}: ${earlier.incarnation}, ${later.incarnation}, ${heardAgoMs}`,
  );
  return { pairs, asked };
}

const secondLife = (manager: ManagerToLookAt): void => manager.join('presence', 'a', 2);
const heardAgo = (ms: number): Partial<OwnerObservation> => ({
  lastHeardAt: instant(new ManagerToLookAt().nowMs - ms),
});

describe('two owners with one name', () => {
  it('are found when the later joins while the earlier is heard', () => {
    expect(found(secondLife).pairs).toEqual(['presence: a.1, a.2, 400']);
    expect(found(secondLife, heardAgo(3_000)).pairs).toEqual(['presence: a.1, a.2, 3000']);
  });

  it('are no news if the earlier was silent for two renewals, or has not been heard by this leader', () => {
    expect(found(secondLife, heardAgo(3_001)).pairs).toEqual([]);
    expect(found(secondLife, { lastHeardAt: undefined }).pairs).toEqual([]);
  });

  it('are no news if the earlier is leaving, or has left', () => {
    expect(found(secondLife, { isLeaving: true }).pairs).toEqual([]);
    const restarted = found((manager) => {
      manager.commit('presence', [{ kind: 'leave', incarnation: 'a.1', why: 'certified' }]);
      secondLife(manager);
    });
    expect(restarted.pairs).toEqual([]);
  });

  it('are told of once if both came with one commit', () => {
    const both = found((manager) => {
      manager.join('presence', 'd', 1);
      manager.join('presence', 'd', 2);
    });
    expect(both.pairs).toEqual(['presence: d.1, d.2, 400']);
  });

  it('may be in different pools', () => {
    expect(found((manager) => manager.join('other', 'a', 2)).pairs).toEqual([]);
  });

  it('cost nothing where there are none', () => {
    expect(found((manager) => manager.join('presence', 'd'))).toEqual({ pairs: [], asked: 0 });
    expect(found(() => {})).toEqual({ pairs: [], asked: 0 });
  });
});
