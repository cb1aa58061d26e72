import type { Missed, ScheduleInput } from '../../../lambdas/engine/queues.ts'
import type { Random } from '../../../testing/random.ts'

// What one seed's world is like.

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
/** Three hours before the clocks of Berlin go forward. */
export const START_MS = Date.UTC(2030, 2, 30, 22)
/** Schedules are due for so long, and the rest is for what is late. */
const DUE_FOR_MS = 180 * MINUTE_MS
/** The last call begins within an hour, and a pause takes up to 40 minutes. */
export const TOUCHED_UNTIL_MS = START_MS + 120 * MINUTE_MS
export const CALM_FROM_MS = START_MS + 240 * MINUTE_MS
export const END_MS = START_MS + 300 * MINUTE_MS

export type Stretch = { readonly fromMs: number; readonly toMs: number }

export type Planned = {
  readonly queue: string
  readonly name: string
  readonly input: ScheduleInput
  /** What a caller does to it, if anything. */
  readonly touch: 'nothing' | 'puts' | 'pauses' | 'runs' | 'deletes'
}

export type Plan = {
  readonly schedules: readonly Planned[]
  readonly capacities: ReadonlyMap<string, number>
  /** Nobody sweeps. */
  readonly outages: readonly Stretch[]
  readonly sweepers: number
  readonly dies: number
  readonly faults: { readonly lost: number; readonly answerLost: number; readonly late: number }
  /** How often an answer of the index is an old one. */
  readonly stale: number
}

export function drawPlan(random: Random): Plan {
  const queues = Array.from({ length: random.between(1, 5) }, (_, n) => `q${n}`)
  const schedules = Array.from({ length: random.between(6, 14) }, (_, n) =>
    drawSchedule(random, random.pick(queues), `s${n}`),
  )
  const outages = Array.from({ length: random.pick([0, 0, 1, 2]) }, () => drawStretch(random))
  const isFaulty = random.chance(0.8)
  return {
    schedules,
    capacities: new Map(
      queues.filter(() => random.chance(0.3)).map((queue) => [queue, random.pick([1, 3, 20])]),
    ),
    outages,
    sweepers: random.pick([1, 2, 3]),
    dies: isFaulty ? random.pick([0, 0.3, 0.8]) : 0,
    faults: {
      lost: isFaulty ? random.pick([0, 0.02]) : 0,
      answerLost: isFaulty ? random.pick([0, 0.03, 0.08]) : 0,
      late: isFaulty ? random.pick([0, 0.03]) : 0,
    },
    stale: random.pick([0, 0.2]),
  }
}

function drawStretch(random: Random): Stretch {
  const fromMs = START_MS + random.integer(DUE_FOR_MS)
  return { fromMs, toMs: fromMs + random.between(1, 50) * MINUTE_MS }
}

/** All of them are due within the time that schedules have here. */
const calendar = [
  { cron: '*/2 * * * *', timeZone: 'UTC' },
  { cron: '*/7 * * * *', timeZone: 'Europe/Berlin' },
  { cron: '30 2 * * *', timeZone: 'Europe/Berlin' },
  { cron: '5,17,59 0-4 * * *', timeZone: 'Europe/Berlin' },
  { cron: '30 * * * *', timeZone: 'America/New_York' },
  { cron: '0,30 * * * *', timeZone: 'Australia/Lord_Howe' },
]

function drawSchedule(random: Random, queue: string, name: string): Planned {
  const times = random.chance(0.5)
    ? { everySeconds: random.pick([15, 45, 60, 61, 300, 1_800]) }
    : random.pick(calendar)
  const startsAtMs = START_MS + random.between(-5, 20) * MINUTE_MS + random.integer(60) * SECOND_MS
  const input: ScheduleInput = {
    ...times,
    text: textOf(random, name, 0),
    priority: random.integer(2),
    missed: random.pick(['skip', 'one', 'all'] as const satisfies readonly Missed[]),
    // An interval counts from its start, so that this knows its times.
    ...(('everySeconds' in times || random.chance(0.3)) && { startsAtMs }),
    endsAtMs: START_MS + DUE_FOR_MS,
  }
  const touch = random.pick(['nothing', 'nothing', 'puts', 'pauses', 'runs', 'deletes'] as const)
  return { queue, name, input, touch }
}

/** Small, or large enough to go by reference. */
export function textOf(random: Random, name: string, generation: number): string {
  const fill = 'x'.repeat(random.pick([0, 0, 40, 1_500]))
  return JSON.stringify({ name, generation, fill })
}
