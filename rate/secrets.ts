import { randomBytes } from 'node:crypto'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { Clock, Dynamo, Row } from '../aws/dynamo.ts'
import { asDocumentPort, type DocumentPort } from '../aws/failures.ts'
import { QueueError } from '../shared/errors.ts'
import {
  FORMER_SECRETS_MAX,
  SECRET_BYTES,
  SECRET_BYTES_MIN,
  SECRET_SETTLES_MS,
  SECRETS_KEPT_MS,
} from './core/bounds.ts'
import { secretKey } from './core/row.ts'
import { invalid } from './core/settings.ts'
import { attempts, done, type Secrets, type SecretsReader } from './limiter.ts'

/** The table's secrets for signing tickets. */
export type TicketSecrets = {
  readonly newest: Uint8Array
  /** From then on, the newest secret signs. By then every process has read it and accepts its tickets. */
  readonly signsFromMs: number
  /** Those that signed before it, the latest first. Their tickets stay valid. */
  readonly former: readonly Uint8Array[]
}

export const firstSecrets = (newest: Uint8Array): TicketSecrets => ({
  newest,
  signsFromMs: 0,
  former: [],
})

export function secretsAt({ newest, signsFromMs, former }: TicketSecrets, nowMs: number): Secrets {
  const [before, ...older] = former
  if (before === undefined || nowMs >= signsFromMs) return [newest, ...former]
  return [before, newest, ...older]
}

export type SecretsChange =
  | { readonly kind: 'changed'; readonly secrets: TicketSecrets }
  /** Some processes may not have read the last change yet. After another one they could disagree. */
  | { readonly kind: 'settling'; readonly untilMs: number }

export function rotated(secrets: TicketSecrets, fresh: Uint8Array, nowMs: number): SecretsChange {
  return settled(secrets, nowMs, ({ newest, former }) => ({
    newest: fresh,
    signsFromMs: nowMs + SECRET_SETTLES_MS,
    former: [newest, ...former].slice(0, FORMER_SECRETS_MAX),
  }))
}

/** Voids every ticket that a former secret has signed, honest or forged. */
export function withoutFormer(secrets: TicketSecrets, nowMs: number): SecretsChange {
  return settled(secrets, nowMs, (before) =>
    before.former.length === 0 ? before : { ...before, former: [] },
  )
}

function settled(
  secrets: TicketSecrets,
  nowMs: number,
  change: (secrets: TicketSecrets) => TicketSecrets,
): SecretsChange {
  const { signsFromMs: untilMs } = secrets
  return nowMs < untilMs
    ? { kind: 'settling', untilMs }
    : { kind: 'changed', secrets: change(secrets) }
}

export function checkSecret(secret: Uint8Array): void {
  if (secret.byteLength >= SECRET_BYTES_MIN) return
  throw invalid(
    'secret',
    `it must have at least ${SECRET_BYTES_MIN} bytes, not ${secret.byteLength}`,
  )
}

/** `s`: the newest secret; `at`: when it begins to sign, in ms; `f`: the secrets before it. */
type SecretRow = {
  readonly s: Uint8Array
  readonly at?: number
  readonly f?: readonly Uint8Array[]
}

export const encodeSecrets = ({ newest, signsFromMs, former }: TicketSecrets): Row => ({
  ...secretKey,
  s: newest,
  ...(signsFromMs > 0 && { at: signsFromMs }),
  ...(former.length > 0 && { f: former }),
})

export function decodeSecrets(row: Row | undefined): TicketSecrets | undefined {
  if (row === undefined) return undefined
  const { s: newest, at: signsFromMs = 0, f: former = [] } = row as SecretRow
  return { newest, signsFromMs, former }
}

type Reading = { readonly startedMs: number; readonly secrets: Promise<TicketSecrets> }

/** One process's copy of the table's secrets, read when a ticket needs them, and again after a while. */
export class TableSecrets implements SecretsReader {
  readonly #dynamo: Dynamo
  readonly #clock: Clock
  readonly #former: readonly Uint8Array[]
  #reading: Reading | undefined

  constructor(dynamo: Dynamo, clock: Clock, former: readonly Uint8Array[]) {
    this.#dynamo = dynamo
    this.#clock = clock
    this.#former = former
  }

  async get(): Promise<Secrets> {
    const nowMs = this.#clock.nowMs()
    const known = this.#reading
    // If somebody has set the clock back, we must not keep them for ever.
    const isFresh = known !== undefined && Math.abs(nowMs - known.startedMs) <= SECRETS_KEPT_MS
    const { secrets } = isFresh ? known : this.#read(nowMs)
    return [...secretsAt(await secrets, this.#clock.nowMs()), ...this.#former]
  }

  #read(startedMs: number): Reading {
    const secrets = readOrMake(this.#dynamo)
    const reading = { startedMs, secrets }
    this.#reading = reading
    // If a read fails, all calls that wait for it fail. The next call reads again.
    secrets.catch(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    return reading
  }
}

/** Only one process can make the row, so a second look finds it. */
const ATTEMPTS_MAX = 3

/**
 * The first process that needs a secret makes it. While idle, the row costs nothing, and a role that may read it may
 * change the limits anyway.
 */
const readOrMake = (dynamo: Dynamo): Promise<TicketSecrets> =>
  attempts<TicketSecrets>(
    ATTEMPTS_MAX,
    async () => {
      const found = decodeSecrets(await dynamo.get(secretKey, true))
      if (found !== undefined) return done(found)
      const made = firstSecrets(randomBytes(SECRET_BYTES))
      const written = await dynamo.put({
        Item: encodeSecrets(made),
        ConditionExpression: 'attribute_not_exists(pk)',
      })
      // Another process was first, or the answer was lost: use the secret that is there now.
      return written.kind === 'done' ? done(made) : { kind: 'again' }
    },
    outOfReach,
  )

export const outOfReach = (): QueueError =>
  new QueueError('STORE_UNAVAILABLE', 'The store is busy or out of reach; try again in a moment')

export type SecretsChanged =
  | SecretsChange
  /** No ticket has been signed yet; the first makes the secret. */
  | { readonly kind: 'none' }

/** People change secrets by hand, now and then. */
const CHANGE_ATTEMPTS_MAX = 5

/** The time of a change. We ask for it after reading the row. */
type NowMs = () => number

export function rotateSecret(dynamo: Dynamo, nowMs: NowMs): Promise<SecretsChanged> {
  const fresh = randomBytes(SECRET_BYTES)
  return change(dynamo, (secrets) =>
    // An earlier attempt wrote it, and its answer was lost.
    Buffer.compare(secrets.newest, fresh) === 0
      ? { kind: 'changed', secrets }
      : rotated(secrets, fresh, Math.floor(nowMs())),
  )
}

export const forgetFormerSecrets = (dynamo: Dynamo, nowMs: NowMs): Promise<SecretsChanged> =>
  change(dynamo, (secrets) => withoutFormer(secrets, Math.floor(nowMs())))

const change = (
  dynamo: Dynamo,
  decide: (secrets: TicketSecrets) => SecretsChange,
): Promise<SecretsChanged> =>
  attempts<SecretsChanged>(
    CHANGE_ATTEMPTS_MAX,
    async () => {
      const before = decodeSecrets(await dynamo.get(secretKey, true))
      if (before === undefined) return done({ kind: 'none' })
      const decision = decide(before)
      if (decision.kind === 'settling' || decision.secrets === before) return done(decision)
      const written = await dynamo.put({
        Item: encodeSecrets(decision.secrets),
        ConditionExpression: unchanged(before),
        ExpressionAttributeValues: { ':seen': before.newest },
      })
      return written.kind === 'done' ? done(decision) : { kind: 'again' }
    },
    outOfReach,
  )

/** Fails if another command changed the row first, be it the secret or only by forgetting the former ones. */
const unchanged = ({ former }: TicketSecrets): string =>
  `s=:seen AND ${former.length === 0 ? 'attribute_not_exists' : 'attribute_exists'}(f)`

/** Where the secret that signs tickets comes from. We ask for it when the first ticket needs it. */
export type SecretSource = Uint8Array | (() => Promise<Uint8Array>)

/** The caller's secret: each process asks for it once, when the first ticket needs it. */
export class GivenSecrets implements SecretsReader {
  readonly #source: SecretSource
  readonly #former: readonly Uint8Array[]
  #reading: Promise<Secrets> | undefined

  constructor(source: SecretSource, former: readonly Uint8Array[]) {
    this.#source = source
    this.#former = former
    for (const each of typeof source === 'function' ? former : [source, ...former]) {
      checkSecret(each)
    }
  }

  get(): Promise<Secrets> {
    if (this.#reading !== undefined) return this.#reading
    const reading = this.#read()
    this.#reading = reading
    // All calls that wait for this read fail with it; the next call reads again.
    reading.catch(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    return reading
  }

  async #read(): Promise<Secrets> {
    const source = this.#source
    const secret = typeof source === 'function' ? await source() : source
    checkSecret(secret)
    return [secret, ...this.#former]
  }
}

type StoreTime = {
  /** The client, whose answers are looked at. */
  readonly port: DocumentPort
  /** The time by the store's clock, to the second, from its last answer; until there is one, by our clock. */
  nowMs(): number
}

type Next = (input: unknown) => Promise<{ readonly response?: unknown }>
type Stacked = {
  middlewareStack?: {
    add(middleware: (next: Next) => Next, options: Record<string, unknown>): void
  }
}

/**
 * The time from the `Date` header of the store's answers. AWS accepts signatures from clocks that are up to fifteen
 * minutes wrong, so a wrong clock can go unnoticed.
 */
export function storeTime(client: DynamoDBClient | DocumentPort, clock: Clock): StoreTime {
  const documents = asDocumentPort(client)
  let aheadMs = 0

  function noteDate(date: string | undefined): void {
    const dateMs = Date.parse(date ?? '')
    if (!Number.isNaN(dateMs)) aheadMs = dateMs - clock.nowMs()
  }

  function watch(command: Stacked): void {
    command.middlewareStack?.add(
      (next) => async (input) => {
        const output = await next(input)
        noteDate(dateOf(output.response))
        return output
      },
      { name: 'pushPopStoreTime', step: 'deserialize', override: true },
    )
  }

  return {
    port: {
      ...documents,
      async send(command: never, ...options: []) {
        watch(command)
        const answer = await documents.send(command, ...options)
        // The lean client, which has no middleware, returns the date with its answer.
        noteDate((answer as { $metadata?: { date?: string } } | undefined)?.$metadata?.date)
        return answer
      },
    },
    nowMs: () => clock.nowMs() + aheadMs,
  }
}

const dateOf = (response: unknown): string | undefined =>
  (response as { headers?: Readonly<Record<string, string>> } | undefined)?.headers?.date
