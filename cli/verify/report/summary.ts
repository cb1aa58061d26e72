// The sentences that the terminal and the report share.

import { counted } from '../../terminal/amounts.ts'
import type { Cost } from '../cost.ts'
import type { Played } from '../play.ts'
import type { VerdictKind } from '../verdict.ts'

export type Report = {
  readonly played: Played
  readonly cost: Cost
  /** The command's; the service does not tell its own. */
  readonly version: string
  readonly startedAtMs: number
  /** The region or `this machine`; never the address. */
  readonly where: string
  readonly auth: string
}

export const marks: Readonly<Record<VerdictKind, string>> = {
  holds: '✓',
  broken: '✗',
  undecided: '?',
  skipped: '–',
}

export const countOf = ({ results }: Played, kind: VerdictKind): number =>
  results.filter(({ verdict }) => verdict === kind).length

/** `17 of 18 promises hold; 1 is broken; 1 was skipped` */
export function verdictSentence(played: Played): string {
  const [hold, broken, undecided, skipped] = (
    ['holds', 'broken', 'undecided', 'skipped'] as const
  ).map((kind) => countOf(played, kind)) as [number, number, number, number]
  const tried = hold + broken + undecided
  const promises = tried === 1 ? 'promise holds' : 'promises hold'
  return [
    hold === tried && tried > 1 ? `All ${tried} ${promises}` : `${hold} of ${tried} ${promises}`,
    ...(broken > 0 ? [`${broken} ${broken === 1 ? 'is' : 'are'} broken`] : []),
    ...(undecided > 0 ? [`${undecided} could not be decided`] : []),
    ...(skipped > 0 ? [`${skipped} ${skipped === 1 ? 'was' : 'were'} skipped`] : []),
  ].join('; ')
}

export const effortSentence = ({ calls, ms }: Played, { dollars }: Cost): string =>
  `${counted(calls.length, 'call')} in ${duration(ms)}, about ${money(dollars)} on AWS by an estimate`

/** `Seen: segment_size 100, the sweeper 34 s after a lock expired` */
export const seenSentence = ({ seen }: Played): string =>
  `Seen: ${[...seen].map(([setting, value]) => `${setting} ${value}`).join(', ')}`

/** Says what stays on the deployment. */
export function legacySentences({ kept, leftBehind }: Played): readonly string[] {
  return [
    ...(kept.length === 0
      ? []
      : [
          `Kept, empty, for the next run, because a configured queue is never forgotten: ${kept.join(', ')}.`,
        ]),
    ...(leftBehind.length === 0
      ? ['All other queues of this run are empty. The service forgets them in ten minutes.']
      : leftBehind.map((one) => `Not cleaned up: ${one}`)),
  ]
}

/** `0.4 s`, `34 s`, `2 min 5 s` */
export function duration(ms: number): string {
  const tenths = Math.round(ms / 100)
  if (tenths < 100) return `${(tenths / 10).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

export const money = (dollars: number): string =>
  `$${dollars.toLocaleString('en-US', { maximumSignificantDigits: 2 })}`
