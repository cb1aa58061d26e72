import { faults } from './faults.ts'

/** How often everything happened: proof that a run covered what it claims to. */
export class Statistics {
  readonly counts = new Map<string, number>()

  count(name: string, by = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + by)
  }

  max(name: string, value: number): void {
    this.counts.set(name, Math.max(this.counts.get(name) ?? 0, value))
  }

  add(other: Readonly<Record<string, number>>): void {
    for (const [name, count] of Object.entries(other)) {
      if (name.startsWith('max ')) this.max(name, count)
      else this.count(name, count)
    }
  }

  get(name: string): number {
    return this.counts.get(name) ?? 0
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries([...this.counts].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

/**
 * A run that met less than this in 5,000 seeds proves nothing. The numbers are about half of the usual,
 * so that we notice when a change of the workload loses a path. What meets what, the crossings show.
 */
// biome-ignore format: a table
const leastOf5000: Readonly<Record<string, number>> = {
  // Rate limits.
  'answer allowed': 7_500, 'answer allowed after waiting': 250, 'answer denied': 2_300, 'answer promised': 450,
  'answer override-refused': 200, 'path came back when a denial said': 90, 'path gave up: given-up': 20,
  'path gave up: kept': 20, 'rows expired': 450,
  // Inside the lanes.
  'path append': 50_000, 'path seal': 5_800, 'path append under the fence': 300, 'path offload': 500, 'path recall': 280,
  'path trim': 8_000, 'path hole': 3_200, 'path hole ahead of the frontier': 6_500, 'path claim': 8_000,
  'path lock under the fence': 15_000, 'path fold': 180_000, 'path deliveries counted': 9_700, 'path buried': 2_000,
  'path dead moved away': 3_000, 'path batch in rows': 10_000, 'path batch in S3': 1_000,
  'path record made': 10_000, 'path record made again': 330, 'path record forgotten': 8_100,
  // How items leave locks, and die.
  'path return by dead-letter': 1_000, 'path return by expiry': 8_000, 'path return by release': 1_500,
  'path died of deliveries': 5_000, 'path expired, died by pop': 15_000, 'path expired, discarded by pop': 35_000,
  'path expired, discarded by push': 60, 'path put off': 100, 'path put off, and overtaken': 100,
  // What is scheduled.
  'path scheduled': 45_000, 'path sealed for later': 8_000, 'path joined': 40_000, 'path joined the nearest lane': 100, 'path listed while scheduled': 3_500,
  'path cancelled while scheduled': 1_300, 'path moved while scheduled': 1_600, 'path moved to a time': 2_000,
  'path purged while scheduled': 2_000,
  // Keys.
  'path note made': 9_500, 'path note got its number': 4_800, 'path note left': 7_200, 'path repeated push by key': 7_300,
  // Waiting.
  'path all seats taken': 2_300, 'path seat taken': 1_800, 'path seat taken after it expired': 120,
  'path seat left': 1_700, 'path seat not left': 150, 'path wait cancelled': 350, 'path waited, then empty': 1_300,
  'path waited, then items': 1_000, 'path waited, then locked': 350, 'path acknowledged, then waited in vain': 150,
  // Settings.
  'path patterns applied': 9_000, 'path under a pattern': 8_300, 'path given back to its pattern': 200,
  'path under a popLimit': 1_800, 'path under a pushLimit': 3_800,
  // Others come between.
  'path announced again': 23_000, 'path push with others': 3_000, 'path lost a race': 57_000,
  'path met a transaction': 4_700, 'path heard late of a lost answer': 900,
  // Where an inspection says that items lie.
  'told of batch-rows': 7_000, 'told of batch-s3': 1_300, 'told of recalled': 330, 'told of record': 7_000,
  'told of rows': 9_700, 'told of s3': 3_600,
}

// biome-ignore format: a table
const outcomesOf5000: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  push: { success: 77_000, 'unknown STORE_UNAVAILABLE': 2_200, crashed: 1_900, 'refused QUEUE_FULL': 3_100 },
  pushTransactItem: { success: 1_500 },
  transact: {
    success: 2_000, 'unknown STORE_UNAVAILABLE': 6, 'refused BUSY': 500, 'refused QUEUE_FULL': 100, crashed: 80,
  },
  pop: { success: 100_000, 'unknown STORE_UNAVAILABLE': 340, crashed: 2_100, 'refused LOCK_EXPIRED': 4_200 },
  acknowledge: { success: 15_000, crashed: 200, 'refused LOCK_EXPIRED': 5_000, 'refused LOCK_NOT_FOUND': 640 },
  acknowledgeMany: { success: 1_500 }, extend: { success: 1_000 }, release: { success: 1_200 },
  deadLetter: { success: 1_200, crashed: 50 }, inspect: { success: 2_500 }, browse: { success: 2_500 },
  configuration: { success: 700 }, configure: { success: 4_000 }, unconfigure: { success: 650 },
  cancel: { success: 2_400, crashed: 34 }, move: { success: 2_000, crashed: 40 }, purge: { success: 1_500 },
  redrive: { success: 2_000 }, list: { success: 700 }, scheduled: { success: 2_000 },
  housekeep: { success: 30_000, crashed: 870 }, returnExpiredLocks: { success: 31_000, crashed: 1_500 },
  announceWaiting: { success: 700 },
  configurePatterns: { success: 4_300, crashed: 10, 'refused VERSION_MISMATCH': 100 },
}

function* expected(): Generator<readonly [name: string, least: number]> {
  yield* Object.entries(leastOf5000)
  const crashes = ['crash, request sent', 'crash, request not sent']
  for (const fault of [...faults.filter((one) => one !== 'crash'), ...crashes]) {
    yield [`fault ${fault}`, 900]
  }
  for (const [verb, outcomes] of Object.entries(outcomesOf5000)) {
    for (const [outcome, least] of Object.entries(outcomes)) {
      yield [`operation ${verb} ${outcome}`, least]
    }
  }
}

export const missingCoverage = (statistics: Statistics, seeds: number): string[] =>
  [...expected()]
    .map(([name, least]) => ({ name, least: (least * seeds) / 5_000, count: statistics.get(name) }))
    .filter(({ least, count }) => count < least)
    .map(({ name, least, count }) => `${name}: ${count} times, not ${least}`)
