// `queue-config` and `rate-patterns`: the settings of prefixes, shown, or replaced all together. The tag of what was
// shown goes with the replacement, so nobody's change in between is lost.

import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import type { QueuePatternsAnswer, RatePatternsAnswer } from '../../client/api-types.ts'
import { queuePatternRequests } from '../../client/queue-calls.ts'
import type { ConfigurationChange } from '../../engine/core/settings.ts'
import { camelCased } from '../../shared/wire.ts'
import {
  type Command,
  type Context,
  command,
  flag,
  type Given,
  type Io,
  type TargetOptions,
  text,
} from '../command.ts'
import { type ExitCode, exitCodes, interrupted, wrongUsage } from '../failure.ts'
import { cannotRead } from '../lines/read-lines.ts'
import { connectTo } from '../target/http.ts'
import { type Asked, withRates } from '../target/open.ts'
import { awsOf, type HttpPlace, placeOf, type StorePlace } from '../target/place.ts'
import { type Answer, objectFrom } from '../target/target.ts'
import { checkAskable, confirm, printTable, yes } from '../terminal.ts'
import { type Column, counted, grouped } from '../text.ts'

const options = {
  file: text('F', 'with set: JSON in a file; stdin else, or with -'),
  yes: flag('with set: do not ask; needed where there is no terminal'),
} as const

type Run = Context<typeof options>

/** Where settings of prefixes are stored, with the API's own names. */
type Patterns<Pattern> = {
  patterns(): Promise<Answer<{ readonly patterns: readonly Pattern[] }>>
  /** Replaces them all, if they are still those of the tag. */
  configurePatterns(
    patterns: readonly unknown[],
    etag: string | undefined,
  ): Promise<Answer<unknown>>
}

type PatternsCommand<Pattern> = {
  readonly name: 'rate-patterns' | 'queue-config'
  readonly summary: string
  readonly notes: readonly string[]
  /** What changes with the patterns, and when: the end of a sentence. */
  readonly effect: string
  readonly columns: readonly Column[]
  /** The columns after the prefix. */
  rowOf(pattern: Pattern): string[]
  open(
    asked: Pick<Run, 'given' | 'io'>,
    work: (target: Patterns<Pattern>) => Promise<ExitCode>,
  ): Promise<ExitCode>
}

/** A command that shows the settings of prefixes, or replaces them all. */
function patternsCommand<Pattern extends { readonly prefix: string }>(
  it: PatternsCommand<Pattern>,
): Command<typeof options> {
  const { name, summary, notes } = it
  return command({
    name,
    summary,
    words: [{ name: 'show|set', kind: 'text', optional: true }],
    options,
    notes,
    examples: [
      `pushpop ${name}`,
      `pushpop ${name} show --json > patterns.json`,
      `pushpop ${name} set --file patterns.json`,
    ],
    async run(context): Promise<ExitCode> {
      const { given, words, io, isJson, print } = context
      const [verb = 'show'] = words
      if (verb !== 'show' && verb !== 'set') {
        throw wrongUsage(
          `Cannot use ${name} because ${JSON.stringify(verb)} is neither show nor set`,
        )
      }
      if (verb === 'show' && (given.file !== undefined || given.yes)) {
        throw wrongUsage('Cannot show the patterns because --file and --yes go with set')
      }
      const patterns = verb === 'set' ? await patternsIn(given.file, io, name) : undefined
      return it.open({ given, io }, async (target) => {
        if (patterns !== undefined) return replace(context, target, patterns, it.effect)
        const { body, text } = await target.patterns()
        if (isJson) await print(text)
        else await show(context, it, body.patterns)
        return exitCodes.done
      })
    },
  })
}

async function replace(
  context: Run,
  target: Patterns<unknown>,
  patterns: readonly unknown[],
  effect: string,
): Promise<ExitCode> {
  const { given, io, isJson, print, tell } = context
  if (!given.yes) checkAskable(io, 'replace the patterns')
  const { body, etag } = await target.patterns()
  const before = body.patterns.length
  const change = `${counted(before, 'pattern')} by ${grouped(patterns.length)}`
  if (!given.yes && before > 0) {
    tell(`This replaces ${change}; ${effect}.`)
    await confirm(context, { ...yes, undone: 'Nothing was replaced' })
  }
  const { text } = await target.configurePatterns(patterns, etag)
  if (isJson) await print(text)
  else tell(`Replaced ${change}.`)
  return exitCodes.done
}

async function show<Pattern extends { readonly prefix: string }>(
  context: Run,
  { columns, rowOf }: PatternsCommand<Pattern>,
  patterns: readonly Pattern[],
): Promise<void> {
  if (patterns.length === 0) return context.tell('There are no patterns yet.')
  const rows = patterns.map((it) => [it.prefix === '' ? '(all)' : it.prefix, ...rowOf(it)])
  await printTable(context, [{ title: 'PREFIX' }, ...columns], rows)
}

type Pattern = QueuePatternsAnswer['patterns'][number]

export const queueConfig = patternsCommand<Pattern>({
  name: 'queue-config',
  summary: 'Shows the settings of prefixes of queues, or replaces them; asks first',
  notes: [
    'In the order in which they apply: the longest prefix first, and the empty one for all queues.\n' +
      "A queue's own settings replace those. set replaces them all by\n" +
      '{"patterns": [{"prefix", "max_deliveries", …}, …]}, as show --json prints them, unless\n' +
      'somebody else has replaced them meanwhile (exit code 4).',
  ],
  effect: 'queues with these prefixes change within some minutes',
  columns: [
    { title: 'SEGMENT', align: 'right' },
    { title: 'BUFFER', align: 'right' },
    { title: 'DELIVERIES', align: 'right' },
    { title: 'CAPACITY', align: 'right' },
    { title: 'TTL', align: 'right' },
    { title: 'EXPIRED' },
    { title: 'PUSHES' },
    { title: 'POPS' },
  ],
  rowOf: (pattern) => [
    grouped(pattern.segment_size),
    grouped(pattern.buffer_segments),
    pattern.max_deliveries === null ? '' : grouped(pattern.max_deliveries),
    pattern.capacity === null ? '' : grouped(pattern.capacity),
    pattern.item_ttl_seconds === null ? '' : `${grouped(pattern.item_ttl_seconds)} s`,
    pattern.expired ?? '',
    limit(pattern.push_limit),
    limit(pattern.pop_limit),
  ],
  open: withQueuePatterns,
})

const limit = (it: Pattern['push_limit']): string =>
  it === null ? '' : `${grouped(it.max_requests)} in ${grouped(it.window_millis)} ms`

export const ratePatterns = patternsCommand<RatePatternsAnswer['patterns'][number]>({
  name: 'rate-patterns',
  summary: 'Shows the rate limits of prefixes, or replaces them; asks first',
  notes: [
    'In the order in which they apply: the longest prefix first, and the empty one for all keys.\n' +
      'set replaces them all by {"patterns": [{"prefix", "max_requests", …}, …]}, as show --json\n' +
      'prints them, unless somebody else has replaced them meanwhile (exit code 4).',
  ],
  effect: 'limits of keys with these prefixes change at once',
  columns: [
    { title: 'REQUESTS', align: 'right' },
    { title: 'MILLIS', align: 'right' },
    { title: 'IN LINE', align: 'right' },
    { title: 'ALGORITHM' },
    { title: 'BURST', align: 'right' },
    { title: 'OVERRIDES' },
  ],
  rowOf: (pattern) => [
    grouped(pattern.max_requests),
    grouped(pattern.window_millis),
    grouped(pattern.max_requests_in_queue),
    pattern.algorithm,
    grouped(pattern.burst),
    pattern.allow_overrides ? 'allowed' : '',
  ],
  open: withRates,
})

/** `{"patterns": […]}`, or the list alone. The service judges its contents. */
async function patternsIn(
  file: string | undefined,
  io: Io,
  command: 'rate-patterns' | 'queue-config',
): Promise<readonly unknown[]> {
  const name = file === undefined || file === '-' ? 'stdin' : file
  const text = await textOf(file, io, command)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw wrongUsage(`Cannot change the patterns because ${name} is not JSON`)
  }
  const isNamed = typeof value === 'object' && value !== null && 'patterns' in value
  const patterns: unknown = isNamed ? (value as { patterns: unknown }).patterns : value
  if (Array.isArray(patterns)) return patterns
  throw wrongUsage(
    `Cannot change the patterns because ${name} holds no list; write {"patterns": [{"prefix", …}, …]}`,
  )
}

async function textOf(file: string | undefined, io: Io, command: string): Promise<string> {
  if (file !== undefined && file !== '-') {
    return readFile(file, 'utf8').catch((error: unknown) => {
      throw cannotRead(file, error)
    })
  }
  if (io.stdin.isTTY && file === undefined) {
    throw wrongUsage(
      'Cannot change the patterns because there is no --file, and nothing comes from stdin; ' +
        `see: pushpop help ${command}`,
    )
  }
  const end = () => io.stdin.destroy()
  io.interrupt.addEventListener('abort', end)
  try {
    return (await buffer(io.stdin)).toString('utf8')
  } catch (error) {
    if (io.interrupt.aborted) throw interrupted('Nothing was replaced.')
    throw error
  } finally {
    io.interrupt.removeEventListener('abort', end)
  }
}

/** The settings of prefixes, in the API's own words, from the API or made on the table itself. */
type QueuePatternsTarget = {
  patterns(): Promise<Answer<QueuePatternsAnswer>>
  /** Replaces them all, if they are still those of the tag. */
  configurePatterns(
    patterns: readonly unknown[],
    etag: string | undefined,
  ): Promise<Answer<QueuePatternsAnswer>>
  close(): void
}

async function withQueuePatterns<R>(
  { given, io }: Asked,
  work: (target: QueuePatternsTarget) => Promise<R>,
): Promise<R> {
  const place = placeOf(given, io.env)
  const target = place.kind === 'store' ? await onStore(place, given) : overHttp(place, given, io)
  try {
    return await work(target)
  } finally {
    target.close()
  }
}

function overHttp(
  place: HttpPlace,
  given: Given<TargetOptions>,
  { env, interrupt }: Asked['io'],
): QueuePatternsTarget {
  const { send } = connectTo(place, awsOf(given), env.PUSHPOP_TOKEN, interrupt)
  const { patterns, configurePatterns } = queuePatternRequests(send)
  return {
    patterns: () => patterns(),
    configurePatterns: (all, ifMatch) => configurePatterns(all, { ifMatch }),
    close() {},
  }
}

async function onStore(
  place: StorePlace,
  given: Given<TargetOptions>,
): Promise<QueuePatternsTarget> {
  const [{ openStoreTarget }, { queuePatternsBody }] = await Promise.all([
    import('../target/store-target.ts'),
    import('../../lambdas/http/bodies.ts'),
  ])
  const { patterns, configurePatterns, close } = openStoreTarget(place, awsOf(given))
  const answer = (found: Awaited<ReturnType<typeof patterns>>): Answer<QueuePatternsAnswer> => {
    const text = JSON.stringify(queuePatternsBody(found))
    return { body: JSON.parse(text) as QueuePatternsAnswer, text, etag: `"${found.revision}"` }
  }
  return {
    patterns: async () => answer(await patterns()),
    async configurePatterns(all, etag) {
      const inputs = all.map((one) => {
        const { prefix, ...settings } = objectFrom(one)
        // The called function checks its contents.
        return { prefix: prefix as string, settings: camelCased(settings) as ConfigurationChange }
      })
      const request = etag === undefined ? {} : { ifMatch: Number(etag.replaceAll('"', '')) }
      return answer(await configurePatterns(inputs, request))
    },
    close,
  }
}
