// The report to paste into an issue. It names no account and no key.

import { latenciesOf } from '../latency.ts'
import type { Call } from '../meter.ts'
import type { CheckResult } from '../play.ts'
import {
  duration,
  effortSentence,
  legacySentences,
  marks,
  money,
  type Report,
  verdictSentence,
} from './summary.ts'
import { milliseconds } from './terminal.ts'

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
