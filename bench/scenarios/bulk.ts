import type { Bench, Scenario } from '../bench.ts'
import { type LifePlan, live } from '../life.ts'
import { sqsFifoBestDollarsPerMillion } from '../prices.ts'
import { atMost, type Row, rowsOf } from '../rows.ts'

type Bars = {
  readonly perPush: number
  readonly short: number
  readonly deep: number
  /** A million items, all in. */
  readonly dollars: number
  readonly aim: number
  /** Also measure with batches on both sides of the size from which they go to S3. */
  readonly isMixedToo?: boolean
}

const DEEP = 100_000

const bulk = (name: string, bars: Bars): Scenario => ({
  name,
  title: `whole life in bulk, ${bars.perPush} a push`,
  async run(bench) {
    const { perPush } = bars
    const rounds = bench.count(20_000 / perPush)
    const rows: Row[] = []
    for (const mode of modes) {
      const short = { ...mode.how, perPush, depth: perPush, rounds }
      rows.push(
        ...(await lifeRows(bench, this.title, `short, ${mode.label}`, short, bars.short, bars)),
      )
    }
    for (const mode of modes.filter(({ deep }) => deep)) {
      const deep = { ...mode.how, perPush, depth: bench.count(DEEP), rounds: 1 }
      rows.push(
        ...(await lifeRows(bench, this.title, `deep, ${mode.label}`, deep, bars.deep, bars)),
      )
    }
    if (bars.isMixedToo === true) {
      const mixed = { ...modes[0].how, perPush, depth: bench.count(DEEP), rounds: 1, isMixed: true }
      const label = 'deep, combined, in rows and in S3 in turns'
      rows.push(...(await lifeRows(bench, this.title, label, mixed, bars.deep, bars)))
    }
    return rows
  },
})

const modes = [
  { label: 'combined', deep: true, how: { combined: true, competing: true } },
  { label: 'separate', deep: true, how: { combined: false, competing: true } },
  { label: 'combined, exclusive', deep: false, how: { combined: true, competing: false } },
  { label: 'separate, exclusive', deep: false, how: { combined: false, competing: false } },
] as const

async function lifeRows(
  bench: Bench,
  title: string,
  label: string,
  plan: LifePlan,
  limit: number,
  bars: Bars,
): Promise<Row[]> {
  const { bar, info } = rowsOf(title)
  const life = await live(bench, `${bars.perPush} a push, ${label}`, plan)
  return [
    bar(`${label}: worth of WRU an item`, life.worthOfWriteUnits, atMost(limit)),
    bar(
      `${label}: $ a million, with gateway and Lambda`,
      life.dollarsPerMillion,
      atMost(bars.dollars),
      {
        aim: atMost(bars.aim),
      },
    ),
    info(`${label}: $ a million, the store alone`, life.storeDollarsPerMillion),
    info(`${label}: of it housekeeping, WRU an item`, life.housekeeping),
    info(`${label}: housekeeping runs an item`, life.housekeepingRuns),
    info(`${label}: housekeeping runs left unfinished`, life.unfinishedRuns),
  ]
}

export const bulk100 = bulk('bulk-100', {
  perPush: 100,
  short: 0.3,
  deep: 0.3,
  dollars: 0.2,
  aim: sqsFifoBestDollarsPerMillion,
  isMixedToo: true,
})
export const bulk1000 = bulk('bulk-1000', {
  perPush: 1000,
  short: 0.2,
  deep: 0.2,
  dollars: 0.08,
  aim: 0.05,
})
