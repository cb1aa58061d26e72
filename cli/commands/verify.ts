// `verify`: checks the promises of the README against a running service, and says which hold.

import { writeFile } from 'node:fs/promises'
import { isLoopback } from '../../client/auth.ts'
import { nameMeant } from '../../shared/options.ts'
import { type Context, command, flag, integer, type Terminal, text } from '../command.ts'
import { type ExitCode, exitCodes, failed, interrupted, messageOf, wrongUsage } from '../failure.ts'
import { version } from '../program.ts'
import { httpAuth, whereNobodyAnswers } from '../target/http.ts'
import { awsOf, type HttpPlace, placeOf } from '../target/place.ts'
import { progressBarOn } from '../terminal.ts'
import { tableLines } from '../text.ts'
import {
  acknowledge,
  competingConsumers,
  deadLetters,
  expiry,
  locks,
} from '../verify/checks/locks.ts'
import {
  authorisation,
  configuration,
  events,
  looking,
  patterns,
  purge,
  queueLimits,
  rateLimits,
} from '../verify/checks/operating.ts'
import { concurrency, longQueue, order, textKept } from '../verify/checks/order.ts'
import { bounds, idempotency, inbox, input } from '../verify/checks/pushes.ts'
import { costOf } from '../verify/meter.ts'
import { type Audience, type Played, type PlaySettings, play } from '../verify/play.ts'
import {
  checkLines,
  closingLines,
  countOf,
  jsonReport,
  markdownReport,
  type Report,
} from '../verify/report.ts'
import type { Check } from '../verify/stage.ts'

/** A new AWS account runs ten functions at a time, and the service's background needs some of them. */
const AT_ONCE_STANDARD = 6
const AT_ONCE_MAX = 64

const options = {
  only: text('NAMES', 'some checks only: --only order,text'),
  list: flag('list the checks and what each promises'),
  report: text('FILE', 'write the report there, as Markdown'),
  'at-once': integer(
    'N',
    1,
    AT_ONCE_MAX,
    `calls under way at a time; ${AT_ONCE_STANDARD} is the default`,
  ),
} as const

type Run = Context<typeof options>

export const verify = command({
  name: 'verify',
  summary: 'Checks the promises of the README against a running service',
  words: [],
  options,
  notes: [
    'Works in separate queues, whose names begin with pushpop-verify-, and empties them at the end,\n' +
      'also after Ctrl-C. It needs the rights to push, pop, inspect, manage and ask rate limits. It takes\n' +
      'one to three minutes, most of them waiting for the sweeper, and costs less than a cent.',
    'It does not look at events, which the API does not show.',
    'Exit code 5 if a promise is broken, 1 if one could not be decided. If stdout is not a terminal it\n' +
      'gets the report as Markdown, which can be pasted into an issue: no address is in it.',
  ],
  examples: [
    'pushpop verify --endpoint https://abc.execute-api.eu-west-1.amazonaws.com --report report.md',
    'pushpop verify --only order,locks',
  ],
  async run(context): Promise<ExitCode> {
    const { given, io, isJson, tell, print, paintOut } = context
    const checks = chosenChecks(given.only)
    if (given.list) {
      await list(context, checks)
      return exitCodes.done
    }
    const place = placeOf(given, io.env)
    if (place.kind !== 'http') {
      throw wrongUsage('Cannot verify a table: the promises are those of the API; give --endpoint')
    }
    const startedAtMs = Date.now()
    const played = await playThrough(context, place, checks)
    const report: Report = {
      played,
      cost: costOf(played.calls),
      version: version(),
      startedAtMs,
      where: given.region ?? whereIs(place.url),
      auth: place.auth,
    }
    const markdown = withoutAddress(markdownReport(report), place.url)
    if (given.report !== undefined) await writeReport(given.report, markdown)
    if (io.interrupt.aborted) throw interrupted(stopSentence(played))
    if (isJson) await print(jsonReport(report))
    else if (io.stdout.isTTY) for (const line of closingLines(report, paintOut)) await print(line)
    else await print(markdown)
    if (given.report !== undefined && !isJson) tell(`The report is in ${given.report}.`)
    return exitCodeAfter(played)
  },
})

async function list(context: Run, checks: readonly Check[]): Promise<void> {
  if (context.isJson) {
    const bodies = checks.map(({ name, promise, steps }) => ({
      name,
      promise,
      steps: Object.keys(steps),
    }))
    return context.print(JSON.stringify({ checks: bodies }))
  }
  const rows = checks.map(({ name, promise }) => [name, promise])
  const [title = '', ...lines] = tableLines([{ title: 'CHECK' }, { title: 'PROMISE' }], rows)
  await context.print(context.paintOut('dim', title))
  for (const line of lines) await context.print(line)
}

async function playThrough(
  context: Run,
  place: HttpPlace,
  checks: readonly Check[],
): Promise<Played> {
  const { given, io, isJson, interrupt, tell, print, paint, paintOut } = context
  const { url } = place
  const progress = progressOn(io.stderr, checks.length)
  const onInterrupt = () => {
    progress.close()
    if (!isJson) tell('Stopping; the queues of this run are emptied first.')
  }
  const settings: PlaySettings = {
    url,
    auth: httpAuth(place, awsOf(given), io.env.PUSHPOP_TOKEN),
    atOnce: given['at-once'] ?? AT_ONCE_STANDARD,
    interrupt,
  }
  const audience: Audience = {
    onOpen(prefix) {
      if (isJson) return
      tell(`Verifying ${paint('bold', url)} in queues ${prefix}…`)
      if (!checks.some(({ waits }) => waits)) return
      tell(paint('dim', 'It waits for the sweeper, which may take over a minute.'))
    },
    onStep: progress.at,
    async onEnd(result) {
      progress.ended(result.check)
      if (isJson || interrupt.aborted) return
      if (!io.stdout.isTTY) return tell(checkLines(result, paint).join('\n'))
      for (const line of checkLines(result, paintOut, io.stdout.columns)) await print(line)
    },
  }
  interrupt.addEventListener('abort', onInterrupt)
  try {
    return await play(checks, settings, audience)
  } catch (error) {
    if (interrupt.aborted) throw interrupted('Stopped before anything was pushed.')
    throw whereNobodyAnswers(url, error)
  } finally {
    interrupt.removeEventListener('abort', onInterrupt)
    progress.close()
  }
}

async function writeReport(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text)
  } catch (error) {
    throw failed(`Cannot write the report to ${file}: ${messageOf(error)}`, error)
  }
}

/** Network errors contain the address. */
const withoutAddress = (text: string, url: string): string =>
  text.replaceAll(new URL(url).origin, 'the endpoint')

/** A custom domain does not reveal the region. */
function whereIs(url: string): string {
  const address = new URL(url)
  if (isLoopback(address)) return 'this machine'
  return /\.execute-api\.([a-z0-9-]+)\./.exec(address.hostname)?.[1] ?? 'region unknown'
}

const stopSentence = ({ leftBehind }: Played): string =>
  leftBehind.length === 0
    ? 'Stopped. All queues of this run have been emptied.'
    : `Stopped. Not cleaned up: ${leftBehind.join(', ')}`

/** A broken promise is a finding, like the doctor's. An undecided one may be decided later. */
function exitCodeAfter(played: Played): ExitCode {
  if (countOf(played, 'broken') > 0) return exitCodes.findings
  const isWhole = countOf(played, 'undecided') === 0 && played.leftBehind.length === 0
  return isWhole ? exitCodes.done : exitCodes.failed
}

/** The checks that `--only order,text` names, or all of them. */
export function chosenChecks(only: string | undefined): readonly Check[] {
  if (only === undefined) return allChecks
  const names = only.split(',').map((name) => name.trim())
  for (const name of names) {
    if (allChecks.some((check) => check.name === name)) continue
    const meant = nameMeant(
      name,
      allChecks.map((check) => check.name),
    )
    const hint = meant === undefined ? '--list shows them' : `did you mean ${meant}?`
    throw wrongUsage(`Cannot verify because there is no check ${JSON.stringify(name)}; ${hint}`)
  }
  return allChecks.filter((check) => names.includes(check.name))
}

/** In the order that reports and `--list` show. */
export const allChecks: readonly Check[] = [
  order,
  textKept,
  locks,
  competingConsumers,
  acknowledge,
  expiry,
  deadLetters,
  longQueue,
  idempotency,
  inbox,
  concurrency,
  bounds,
  input,
  configuration,
  patterns,
  queueLimits,
  rateLimits,
  purge,
  looking,
  authorisation,
  events,
]

/** Often enough to show the seconds of a wait. */
const DRAW_EVERY_MS = 200

type Progress = {
  at(check: Check, sentence: string): void
  /** Clears the line, because a result is printed next. */
  ended(check: Check): void
  close(): void
}

/** Draws one line again and again, with the step of the check that began last. */
function progressOn(terminal: Terminal, total: number): Progress {
  const bar = progressBarOn(terminal, 'Verifying')
  const running = new Map<Check, string>()
  let done = 0
  const draw = () => {
    const last = [...running].at(-1)
    if (last !== undefined) bar.at(done, total, `${last[0].name}: ${last[1]}`)
  }
  const timer = terminal.isTTY ? setInterval(draw, DRAW_EVERY_MS) : undefined
  return {
    at(check, sentence) {
      running.set(check, sentence)
    },
    ended(check) {
      running.delete(check)
      done += 1
      bar.clear()
    },
    close() {
      clearInterval(timer)
      bar.clear()
    },
  }
}
