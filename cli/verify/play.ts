// A run plays all checks, a few at a time, judges each step, and empties the queues of each check when it ends: also
// after Ctrl-C, when its time is over, or when nobody reads the output any more.

import type { Auth } from '../../client/auth.ts'
import { isAtLimit } from '../../client/errors.ts'
import { type Configuration, createClient, isPushPopError } from '../../client/index.ts'
import { messageOf } from '../failure.ts'
import { Broken, Skipped, saysNothing } from './claims.ts'
import {
  deadLetterQueueOf,
  type Estate,
  makeEstate,
  PREFIX,
  randomName,
  turnstile,
} from './estate.ts'
import { type Call, meteredFetch } from './meter.ts'
import { type Check, isLimited, makeStage, ofPrefix, type Stage } from './stage.ts'

type StepResult = { readonly name: string; readonly verdict: Verdict }

export type CheckResult = {
  readonly check: Check
  readonly verdict: VerdictKind
  readonly steps: readonly StepResult[]
  readonly calls: readonly Call[]
  readonly ms: number
}

export type Played = {
  /** In the order in which the checks were given. */
  readonly results: readonly CheckResult[]
  /** All calls, including those before and after the checks. */
  readonly calls: readonly Call[]
  readonly ms: number
  readonly seen: ReadonlyMap<string, string>
  /** Queues that stay, empty and with their defaults. */
  readonly kept: readonly string[]
  /** Queues that could not be emptied or given back, each with the reason. */
  readonly leftBehind: readonly string[]
}

export type PlaySettings = {
  readonly url: string
  readonly auth: Auth
  /** How many calls of all checks together may be under way. */
  readonly atOnce: number
  readonly interrupt: AbortSignal
  readonly sweeperWithinMs?: number
  /** Tests play the checks against handlers in their own process. */
  readonly fetch?: typeof fetch
}

export type Audience = {
  /** Called before the run pushes anything. */
  onOpen(prefix: string): void
  onStep(check: Check, sentence: string): void
  onEnd(result: CheckResult): Promise<void>
}

/**
 * The schedule comes once in each minute, at any second of it, so two runs may be nearly two minutes
 * apart. The rest is for a cold start and an index that lags.
 */
const SWEEPER_WITHIN_MS = 150_000
/** The check that waits for the sweeper needs most of it. */
const CHECK_MS_MAX = 240_000
const RUN_MS_MAX = 300_000
/** A check mostly waits for one answer after the other. */
const CHECKS_AT_ONCE = 4

export async function play(
  checks: readonly Check[],
  settings: PlaySettings,
  audience: Audience,
): Promise<Played> {
  const { url, auth, interrupt } = settings
  const startedMs = performance.now()
  const calls: Call[] = []
  const seen = new Map<string, string>()
  const pass = turnstile(settings.atOnce)
  // The reader of our output may go away first. We empty the queues anyway.
  const deaf = new AbortController()
  const halt = AbortSignal.any([interrupt, deaf.signal, AbortSignal.timeout(RUN_MS_MAX)])
  const clientUntil = (end: AbortSignal) => {
    const onCall = (call: Call) => calls.push(call)
    const fetch = meteredFetch({ ...settings, base: new URL(url), pass, halt: end, onCall })
    return createClient({ url, auth, fetch, retry: { onRetry: () => end.throwIfAborted() } })
  }

  const estate = await open(clientUntil, halt, seen)
  audience.onOpen(estate.prefix)
  const results = new Map<Check, CheckResult>()
  // Checks that wait start first, and the others fill that time.
  const left = checks.toSorted((a, b) => Number(b.waits ?? false) - Number(a.waits ?? false))
  const worker = async () => {
    for (let check = left.shift(); check !== undefined; check = left.shift()) {
      const result = await playCheck(check, { ...settings, pass, halt, estate, seen }, audience)
      results.set(check, result)
      calls.push(...result.calls)
      await audience.onEnd(result).catch((error: unknown) => deaf.abort(error))
    }
  }
  await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, worker))
  await estate.close()
  deaf.signal.throwIfAborted()
  return {
    results: checks.flatMap((check) => results.get(check) ?? []),
    calls,
    seen,
    ms: performance.now() - startedMs,
    kept: estate.kept(),
    leftBehind: estate.leftBehind,
  }
}

type ClientUntil = (end: AbortSignal) => ReturnType<typeof createClient>

/** Fails before anything is pushed if nothing answers, or if these credentials could not clean up. */
async function open(
  clientUntil: ClientUntil,
  halt: AbortSignal,
  seen: Map<string, string>,
): Promise<Estate> {
  const client = clientUntil(halt)
  await client.health()
  const unused = client.queue(PREFIX + randomName())
  await unused.purge()
  const settings = await unused.configuration()
  // No settings of prefixes apply to dead-letter queues.
  const { etag: _, ...defaults } = await client.queue(deadLetterQueueOf(unused.id)).configuration()
  seen.set('segment_size', String(settings.segmentSize))
  seen.set('buffer_segments', String(settings.bufferSegments))
  if (settings.source.from === 'pattern') seen.set('settings', `those of ${ofPrefix(settings)}`)
  return makeEstate({ settings, defaults, cleanerUntil: clientUntil })
}

type CheckSettings = PlaySettings & {
  readonly pass: <R>(work: () => Promise<R>) => Promise<R>
  readonly halt: AbortSignal
  readonly estate: Estate
  readonly seen: Map<string, string>
}

async function playCheck(
  check: Check,
  settings: CheckSettings,
  audience: Audience,
): Promise<CheckResult> {
  const { estate, seen, sweeperWithinMs = SWEEPER_WITHIN_MS } = settings
  const startedMs = performance.now()
  const halt = AbortSignal.any([settings.halt, AbortSignal.timeout(CHECK_MS_MAX)])
  const calls: Call[] = []
  const stage = makeStage({
    ...settings,
    check: check.name,
    halt,
    sweeperWithinMs,
    onCall: (call) => calls.push(call),
    onWait: (sentence) => audience.onStep(check, sentence),
    onSeen: (setting, value) => seen.set(setting, value),
  })
  const steps: StepResult[] = []
  for (const [name, run] of Object.entries(check.steps)) {
    audience.onStep(check, name)
    steps.push({ name, verdict: await verdictOf(run, stage, { halt, settings: estate.settings }) })
  }
  await estate.clear(check.name)
  return {
    check,
    verdict: worstOf(steps.map(({ verdict }) => verdict.kind)),
    steps,
    calls,
    ms: performance.now() - startedMs,
  }
}

async function verdictOf(
  run: (stage: Stage) => Promise<void>,
  stage: Stage,
  bounds: Bounds,
): Promise<Verdict> {
  const { halt } = bounds
  if (halt.aborted) return { kind: 'undecided', reason: reasonOf(halt) }
  try {
    await run(stage)
    return { kind: 'holds' }
  } catch (error) {
    return verdictOn(error, bounds)
  }
}

/**
 * - `holds`: the service kept its promise.
 * - `broken`: it did something else.
 * - `undecided`: the step could not be played to its end: the network, the credentials, the time.
 * - `skipped`: nobody can see this from here.
 */
type Verdict =
  | { readonly kind: 'holds' }
  | { readonly kind: 'broken' | 'undecided' | 'skipped'; readonly reason: string }

export type VerdictKind = Verdict['kind']

type Bounds = {
  readonly halt: AbortSignal
  /** Those of the run's queues. */
  readonly settings: Configuration
}

/** What a step's error says about the promise. */
export function verdictOn(error: unknown, { halt, settings }: Bounds): Verdict {
  if (error instanceof Broken) return { kind: 'broken', reason: error.message }
  if (error instanceof Skipped) return { kind: 'skipped', reason: error.message }
  if (halt.aborted) return { kind: 'undecided', reason: reasonOf(halt) }
  if (!isPushPopError(error)) {
    const reason = `the check itself failed: ${messageOf(error)}`
    return { kind: 'undecided', reason }
  }
  // The gateway's throttle does not say when to come again.
  if (isLimited(settings) && isAtLimit(error)) {
    return { kind: 'skipped', reason: `${ofPrefix(settings)} limits it: ${error.message}` }
  }
  const kind = saysNothing(error) ? 'undecided' : 'broken'
  return { kind, reason: `${error.code}: ${error.message}` }
}

const reasonOf = (halt: AbortSignal): string =>
  halt.reason instanceof DOMException && halt.reason.name === 'TimeoutError'
    ? 'its time was over'
    : 'it was interrupted'

const ranks: readonly VerdictKind[] = ['broken', 'undecided', 'holds', 'skipped']

/** A check holds if every step holds that could be tried. */
export const worstOf = (kinds: readonly VerdictKind[]): VerdictKind =>
  ranks.find((kind) => kinds.includes(kind)) ?? 'skipped'
