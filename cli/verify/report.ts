// A run as a report: on a terminal, as Markdown for an issue, as JSON. It names no account and no key.

import { type Paint, printable } from '../../local/terminal/terminal.ts'
import { counted, grouped, tableLines } from '../text.ts'
import { type Call, type Cost, latenciesOf } from './meter.ts'
import type { CheckResult, Played, VerdictKind } from './play.ts'

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

const marks: Readonly<Record<VerdictKind, string>> = {
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

const effortSentence = ({ calls, ms }: Played, { dollars }: Cost): string =>
  `${counted(calls.length, 'call')} in ${duration(ms)}, about ${money(dollars)} on AWS by an estimate`

/** `Seen: segment_size 100, the sweeper 34 s after a lock expired` */
const seenSentence = ({ seen }: Played): string =>
  `Seen: ${[...seen].map(([setting, value]) => `${setting} ${value}`).join(', ')}`

/** Says what stays on the deployment. */
function legacySentences({ kept, leftBehind }: Played): readonly string[] {
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

const money = (dollars: number): string =>
  `$${dollars.toLocaleString('en-US', { maximumSignificantDigits: 2 })}`

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

const milliseconds = (ms: number): string => `${grouped(Math.round(ms))} ms`

export function markdownReport(report: Report): string {
  const { played, cost, version, where, auth, startedAtMs } = report
  const { results } = played
  const when = new Date(startedAtMs).toISOString().slice(0, 16).replace('T', ' ')
  return [
    `## PushPop: ${verdictSentence(played)}`,
    '',
    `pushpop ${version} · ${where} · auth ${auth} · ${when} UTC · ${effortSentence(played, cost)}`,
    '',
    '| | Promise | Sentences | Calls | Time |',
    '| --- | --- | ---: | ---: | ---: |',
    ...results.map(checkRow),
    ...problems(results),
    '',
    '### Calls',
    '',
    ...latencyTable(played.calls),
    '',
    `Estimated at list prices in us-east-1: gateway ${money(cost.gatewayDollars)}, Lambda ` +
      `${money(cost.lambdaDollars)}, DynamoDB ${money(cost.tableDollars)}. Logs, traces, S3 and what ` +
      'happens in the background are not in it.',
    '',
    '### Seen',
    '',
    ...[...played.seen].map(([setting, value]) => `- ${setting}: ${value}`),
    ...legacySentences(played).map((sentence) => `- ${sentence}`),
    '',
    '<details><summary>Every sentence, and the calls by check</summary>',
    '',
    ...results.flatMap(checkSection),
    '</details>',
    '',
  ].join('\n')
}

function checkRow({ check, verdict, steps, calls, ms }: CheckResult): string {
  const tried = steps.filter((step) => step.verdict.kind !== 'skipped')
  const hold = tried.filter((step) => step.verdict.kind === 'holds').length
  const cells = [
    `${marks[verdict]} ${verdict}`,
    `**${check.name}**: ${check.promise}`,
    tried.length === 0 ? '–' : `${hold} of ${tried.length}`,
    String(calls.length),
    duration(ms),
  ]
  return `| ${cells.join(' | ')} |`
}

function problems(results: readonly CheckResult[]): readonly string[] {
  const lines = results.flatMap(({ check, steps }) =>
    steps.flatMap(({ name, verdict }) =>
      verdict.kind === 'holds' || verdict.kind === 'skipped'
        ? []
        : [`- **${check.name}** ${marks[verdict.kind]} ${name}: ${inCode(verdict.reason)}`],
    ),
  )
  return lines.length === 0 ? [] : ['', '### What does not hold', '', ...lines]
}

function checkSection({ check, steps, calls }: CheckResult): readonly string[] {
  return [
    `**${check.name}**`,
    '',
    ...steps.map(({ name, verdict }) => {
      const reason = verdict.kind === 'holds' ? '' : ` (${inCode(verdict.reason)})`
      return `- ${marks[verdict.kind]} ${name}${reason}`
    }),
    '',
    ...(calls.length === 0 ? [] : [...latencyTable(calls), '']),
  ]
}

const latencyTable = (calls: readonly Call[]): readonly string[] => [
  '| Call | Calls | p50 | p99 |',
  '| --- | ---: | ---: | ---: |',
  ...latenciesOf(calls).map(
    (it) =>
      `| ${it.operation} | ${it.calls} | ${milliseconds(it.p50Ms)} | ${milliseconds(it.p99Ms)} |`,
  ),
]

/** Shows the service's words as they are, so that none becomes a link, a table cell or a mention. */
const inCode = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map((run) => run.length))
  const fence = '`'.repeat(longest + 1)
  return longest === 0 ? `${fence}${line}${fence}` : `${fence} ${line} ${fence}`
}

export function jsonReport({ played, cost, version, where, auth, startedAtMs }: Report): string {
  return JSON.stringify({
    success: countOf(played, 'broken') + countOf(played, 'undecided') === 0,
    version,
    where,
    auth,
    started_at: startedAtMs / 1_000,
    duration_ms: Math.round(played.ms),
    holds: countOf(played, 'holds'),
    broken: countOf(played, 'broken'),
    undecided: countOf(played, 'undecided'),
    skipped: countOf(played, 'skipped'),
    calls: played.calls.length,
    estimated_dollars: cost.dollars,
    seen: Object.fromEntries(played.seen),
    kept_queues: played.kept,
    left_behind: played.leftBehind,
    latencies: latencyBodies(played.calls),
    checks: played.results.map(({ check, verdict, steps, calls, ms }) => ({
      name: check.name,
      promise: check.promise,
      verdict,
      duration_ms: Math.round(ms),
      calls: calls.length,
      latencies: latencyBodies(calls),
      steps: steps.map((step) => ({
        name: step.name,
        verdict: step.verdict.kind,
        ...(step.verdict.kind !== 'holds' && { reason: step.verdict.reason }),
      })),
    })),
  })
}

const latencyBodies = (calls: readonly Call[]) =>
  latenciesOf(calls).map((it) => ({
    operation: it.operation,
    calls: it.calls,
    p50_ms: rounded(it.p50Ms),
    p99_ms: rounded(it.p99Ms),
  }))

const rounded = (ms: number): number => Math.round(ms * 10) / 10
