import type { Profile } from '../world/actors/callers/profile.ts'
import { hasActor } from '../world/actors/index.ts'
import { drawWorld } from '../world/run-seed.ts'

/** Worlds in which a kind of fault shows soon: seeds whose drawn profile is none of them are passed by. */
const isIn = {
  /** A queue that is emptied, forgotten and made again, under memories of the one before. */
  reuse: ({ eras, queues }) =>
    queues.length === 1 && eras.filter(({ restMs }) => restMs > 600_000).length >= 4,
  /** Many consumers that claim. */
  claims: ({ writers, concurrency, competing }) => writers * concurrency >= 3 && competing >= 0.9,
  priorities: ({ writers, concurrency, priorities }) =>
    writers * concurrency >= 3 && priorities.length > 1,
  /** Answers are lost, and requests land late. */
  lost: ({ faults }) =>
    faults['answer-lost'] + faults['lands-late'] + faults['server-error-applied'] >= 0.1,
  deaths: ({ queues }) => queues.some(({ maxDeliveries }) => maxDeliveries !== undefined),
  segments: ({ queues }) => queues.some(({ segmentSize = 100 }) => segmentSize <= 4),
  limited: ({ limited }) => limited,
  patterned: ({ patterned }) => patterned,
  expiring: ({ expiring }) => expiring !== undefined,
  waiting: ({ waiting }) => waiting !== undefined,
  lingering: ({ linger }) => linger !== undefined,
  later: ({ later }) => later !== undefined,
  settling: ({ settlesMaxMs }) => settlesMaxMs > 0,
  crowded: ({ bulkItems: [least] }) => least === 800,
  consumed: (_, seed) => hasActor('consumer', seed),
  consumedByMany: (_, seed) => hasActor('consume-many', seed),
  inbox: (_, seed) => hasActor('inbox', seed),
  scheduled: (_, seed) => hasActor('schedules', seed),
  rates: (_, seed) => hasActor('rate-callers', seed),
} as const satisfies Readonly<Record<string, (profile: Profile, seed: number) => boolean>>

export type Focus = keyof typeof isIn

export function isInFocus(focus: Focus, seed: number): boolean {
  const { profile, worldSeed } = drawWorld(seed)
  return isIn[focus](profile, worldSeed)
}

export const isFocus = (text: string): text is Focus => Object.hasOwn(isIn, text)
