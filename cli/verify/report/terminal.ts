import { type Paint, printable } from '../../../local/terminal/paint.ts'
import { counted, grouped } from '../../terminal/amounts.ts'
import { tableLines } from '../../terminal/table.ts'
import { latenciesOf } from '../latency.ts'
import type { CheckResult } from '../play.ts'
import type { VerdictKind } from '../verdict.ts'
import {
  countOf,
  duration,
  effortSentence,
  legacySentences,
  marks,
  type Report,
  seenSentence,
  verdictSentence,
} from './summary.ts'

const colours = { holds: 'green', broken: 'red', undecided: 'yellow', skipped: 'dim' } as const

/** Wide enough for the longest name and for the numbers of a run. */
const widths = { name: 13, steps: 8, calls: 10, time: 10 } as const

/** A finished check: one line if it holds, and the sentences that do not hold. */
export function checkLines(result: CheckResult, paint: Paint, columns = Number.POSITIVE_INFINITY) {
  const { check, verdict, steps, calls, ms } = result
  const tried = steps.filter((step) => step.verdict.kind !== 'skipped')
  const hold = tried.filter((step) => step.verdict.kind === 'holds').length
  const effort = [
    (tried.length === 0 ? 'skipped' : `${hold} of ${tried.length}`).padStart(widths.steps),
    counted(calls.length, 'call').padStart(widths.calls),
    duration(ms).padStart(widths.time),
  ].join('  ')
  const name = check.name.padEnd(widths.name)
  const room = Math.max(20, columns - name.length - effort.length - 6)
  const promise =
    check.promise.length > room ? `${check.promise.slice(0, room - 1)}…` : check.promise
  return [
    `${marked(verdict, paint)} ${paint('bold', name)} ${paint('dim', effort)}  ${promise}`,
    ...steps.flatMap((step) => {
      if (step.verdict.kind === 'holds' || step.verdict.kind === 'skipped') return []
      const { kind, reason } = step.verdict
      return [`    ${marked(kind, paint)} ${step.name}`, `      ${printable(reason)}`]
    }),
    ...skippedFor(steps).map((reason) => paint('dim', `    skipped: ${reason}`)),
  ]
}

/** Each reason once, because steps often share one. */
const skippedFor = (steps: CheckResult['steps']): readonly string[] => [
  ...new Set(steps.flatMap(({ verdict }) => (verdict.kind === 'skipped' ? [verdict.reason] : []))),
]

const marked = (kind: VerdictKind, paint: Paint): string => paint(colours[kind], marks[kind])

/** The end of a run: calls, verdict, effort. */
export function closingLines({ played, cost }: Report, paint: Paint): readonly string[] {
  const [title = '', ...rows] = latencyLines(played.calls)
  const isGood = countOf(played, 'broken') + countOf(played, 'undecided') === 0
  return [
    '',
    paint('dim', title),
    ...rows,
    '',
    paint(isGood ? 'green' : 'red', `${verdictSentence(played)}.`),
    `${effortSentence(played, cost)}.`,
    paint('dim', `${seenSentence(played)}.`),
    ...legacySentences(played).map((sentence) => paint('dim', sentence)),
  ]
}

const latencyLines = (calls: CheckResult['calls']) =>
  tableLines(
    [
      { title: 'CALL' },
      { title: 'CALLS', align: 'right' },
      { title: 'P50', align: 'right' },
      { title: 'P99', align: 'right' },
    ],
    latenciesOf(calls).map((it) => [
      it.operation,
      grouped(it.calls),
      milliseconds(it.p50Ms),
      milliseconds(it.p99Ms),
    ]),
  )

export const milliseconds = (ms: number): string => `${grouped(Math.round(ms))} ms`
