import { faults } from './faults.ts'
import type { Statistics } from './statistics.ts'

/**
 * A run that met less than this in 5,000 seeds proves nothing. The numbers are about half of the usual,
 * so that we notice when a change of the workload loses a path.
 */
const leastOf5000: Readonly<Record<string, number>> = {
  'answer allowed': 7_500,
  'answer allowed after waiting': 250,
  'answer denied': 2_300,
  'answer override-refused': 200,
  'answer promised': 450,
  'path acknowledged, then waited in vain': 150,
  'path all seats taken': 2_300,
  'path announced again': 23_000,
  'path append': 50_000,
  'path batch in rows': 10_000,
  'path batch in S3': 1_000,
  'path buried': 2_000,
  'path cancelled': 850,
  'path cancelled while scheduled': 1_300,
  'path came back when a denial said': 90,
  'path claim': 8_000,
  'path combined acknowledge': 5_100,
  'path dead moved away': 3_000,
  'path deliveries counted': 9_700,
  'path died of deliveries': 5_000,
  'path expired, died by pop': 15_000,
  'path expired, discarded by pop': 35_000,
  'path expired, discarded by push': 250,
  'path extension': 1_000,
  'path fold': 180_000,
  'path heard late of a lost answer': 900,
  'path hole': 3_200,
  'path hole ahead of the frontier': 6_500,
  'path joined': 40_000,
  'path lane forgotten': 10_000,
  'path lane made': 8_000,
  'path lock under the fence': 15_000,
  'path listed while scheduled': 3_500,
  'path lost a race': 57_000,
  'path met a transaction': 4_700,
  'path moved': 490,
  'path moved to a time': 2_000,
  'path moved while scheduled': 1_600,
  'path moved within': 380,
  'path note got its number': 4_800,
  'path note left': 7_200,
  'path note made': 9_500,
  'path offload': 500,
  'path part acknowledged': 2_000,
  'path gave up: given-up': 20,
  'path gave up: kept': 20,
  'path given back to its pattern': 200,
  'path partly released': 510,
  'path patterns applied': 9_000,
  'path under a pattern': 8_300,
  'path purge': 1_500,
  'path put off': 100,
  'path put off, and overtaken': 100,
  'path purged by id': 240,
  'path purged while scheduled': 2_000,
  'path push with others': 12_000,
  'path recall': 280,
  'path record forgotten': 8_100,
  'path record made': 10_000,
  'path record made again': 330,
  'path redriven': 280,
  'path repeated push by key': 7_300,
  'path repeated pop by key': 380,
  'path return by dead-letter': 1_000,
  'path return by expiry': 8_000,
  'path return by release': 1_500,
  'path seal': 5_800,
  'path scheduled': 45_000,
  'path seal before an append': 600,
  'path sealed for later': 8_000,
  'path seat left': 1_700,
  'path seat not left': 150,
  'path seat taken': 1_800,
  'path seat taken after it expired': 260,
  'path trim': 8_000,
  'path under a popLimit': 1_800,
  'path under a pushLimit': 3_800,
  'path wait cancelled': 350,
  'path waited, then empty': 1_300,
  'path waited, then items': 1_000,
  'path waited, then locked': 350,
  'rows expired': 450,
  'told of batch-rows': 7_000,
  'told of batch-s3': 1_300,
  'told of recalled': 330,
  'told of record': 7_000,
  'told of rows': 9_700,
  'told of s3': 3_600,
}

/** Everything that the run met too rarely, and how often it did. */
export function missingCoverage(statistics: Statistics, seeds: number): string[] {
  const scale = seeds / 5_000
  const missing: string[] = []
  const expect = (name: string, least: number): void => {
    const count = statistics.get(name)
    if (count < least * scale) missing.push(`${name}: ${count} times, not ${least * scale}`)
  }
  for (const [name, least] of Object.entries(leastOf5000)) expect(name, least)
  for (const fault of faults) {
    if (fault === 'crash') {
      expect('fault crash, request sent', 1_000)
      expect('fault crash, request not sent', 1_000)
    } else {
      expect(`fault ${fault}`, 1_000)
    }
  }
  for (const [verb, outcomes] of Object.entries(expectedOutcomes)) {
    for (const [outcome, least] of Object.entries(outcomes)) {
      expect(`operation ${verb} ${outcome}`, least)
    }
  }
  return missing
}

const expectedOutcomes: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  push: {
    success: 77_000,
    'unknown STORE_UNAVAILABLE': 2_200,
    crashed: 1_900,
    'refused QUEUE_FULL': 3_100,
  },
  pushTransactItem: { success: 1_500 },
  transact: {
    success: 2_000,
    'unknown STORE_UNAVAILABLE': 6,
    'refused BUSY': 500,
    'refused QUEUE_FULL': 100,
    crashed: 120,
  },
  pop: {
    success: 100_000,
    'unknown STORE_UNAVAILABLE': 340,
    crashed: 2_100,
    'refused LOCK_EXPIRED': 4_200,
  },
  acknowledge: {
    success: 15_000,
    crashed: 200,
    'refused LOCK_EXPIRED': 5_000,
    'refused LOCK_NOT_FOUND': 640,
  },
  acknowledgeMany: { success: 1_500 },
  extend: { success: 1_000 },
  release: { success: 1_200 },
  deadLetter: { success: 1_200, crashed: 50 },
  inspect: { success: 2_500 },
  browse: { success: 2_500 },
  configuration: { success: 700 },
  configure: { success: 4_000 },
  cancel: { success: 2_400, crashed: 34 },
  move: { success: 2_000, crashed: 40 },
  purge: { success: 1_500 },
  redrive: { success: 2_000 },
  list: { success: 700 },
  scheduled: { success: 2_000 },
  housekeep: { success: 30_000, crashed: 870 },
  returnExpiredLocks: { success: 31_000, crashed: 1_500 },
  announceWaiting: { success: 700 },
  configurePatterns: { success: 4_300, crashed: 10, 'refused VERSION_MISMATCH': 100 },
  unconfigure: { success: 650 },
}
