// The secrets that sign tickets: given by the caller, or made by the first process that needs one and kept in a row.
//
//   none ──first ticket──▶ newest ──changed──▶ newest, and the one before it signs until every process knows the new one
//                                                 └──settled──▶ newest signs, former ones still verify ──forgotten──▶ void
//
// Two processes may make the first secret, or two people change it: the row takes one, and the other looks again. A
// change takes its time from the store, because a wrong clock could let a secret sign before others accept it.

import { randomBytes } from 'node:crypto'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { changeRow } from '../aws/change-row.ts'
import { asDocumentPort, type DocumentPort } from '../aws/document-port.ts'
import { type Clock, Dynamo, type Row, unavailable } from '../aws/dynamo.ts'
import { systemClock } from '../shared/system.ts'
import { secretKey } from './core/row.ts'
import { unusable } from './core/settings.ts'
import { KeptReading, type Secrets, type SecretsReader } from './limiter.ts'

/** As many bytes as the strength of the hash that it keys. */
const SECRET_BYTES_MIN = 16
/** Bytes of a secret that we make: as many as the hash has. */
const SECRET_BYTES = 32

/** How long a process uses the table's secrets after it has read them. */
export const SECRETS_KEPT_MS = 300_000
/**
 * How long after a change the new secret begins to sign. A process may have read the row just before the
 * change and use that for five minutes; its clock may be twenty seconds behind, another's twenty seconds
 * ahead, and its next read may take some seconds. Twice the five minutes covers all of that. It does not cover
 * the operator's clock, and need not, because the change takes its time from the store.
 */
export const SECRET_SETTLES_MS = 2 * SECRETS_KEPT_MS
/** With one change a month, tickets stay valid for three. Each former secret costs one more HMAC per forged ticket. */
export const FORMER_SECRETS_MAX = 3

export type TicketSecretsOptions = {
  readonly tableName: string
  readonly dynamodb: DynamoDBClient | DocumentPort
  readonly clock?: Clock | undefined
}

/** The secrets in the table. They sign the tickets of rate limits, unless the caller brings a secret. */
export function createTicketSecrets(options: TicketSecretsOptions): TicketSecretVerbs {
  const { tableName, clock = systemClock } = options
  const { port, nowMs } = storeTime(options.dynamodb, clock)
  const dynamo = new Dynamo(port, tableName, clock, Math.random)
  return {
    nowMs,
    read: async () => decodeSecrets(await dynamo.get(secretKey, true)),
    rotate: () => rotateSecret(dynamo, nowMs),
    forgetFormer: () => forgetFormerSecrets(dynamo, nowMs),
  }
}

export interface TicketSecretVerbs {
  /** The time by the store's clock, once it has answered. Changes use that, because our clock may be wrong. */
  nowMs(): number
  /** Undefined before the first ticket is signed. */
  read(): Promise<TicketSecrets | undefined>
  /** Makes a new secret. It begins to sign once every process knows it, and existing tickets stay valid. */
  rotate(): Promise<SecretsChanged>
  /** For use after a leak: voids every ticket that a former secret has signed. */
  forgetFormer(): Promise<SecretsChanged>
}

/** The time of a change. We ask for it after reading the row. */
type NowMs = () => number

function rotateSecret(dynamo: Dynamo, nowMs: NowMs): Promise<SecretsChanged> {
  const fresh = randomBytes(SECRET_BYTES)
  return change(dynamo, (secrets) =>
    // An earlier attempt wrote it, and its answer was lost.
    Buffer.compare(secrets.newest, fresh) === 0
      ? { kind: 'changed', secrets }
      : rotated(secrets, fresh, Math.floor(nowMs())),
  )
}

const forgetFormerSecrets = (dynamo: Dynamo, nowMs: NowMs): Promise<SecretsChanged> =>
  change(dynamo, (secrets) => withoutFormer(secrets, Math.floor(nowMs())))

export type SecretsChanged =
  | SecretsChange
  /** No ticket has been signed yet; the first makes the secret. */
  | { readonly kind: 'none' }

const secretsRow = {
  key: secretKey,
  // Forgetting the former ones leaves the newest as it is.
  versions: ['s', 'f'],
  decode: (row: Row | undefined) => decodeSecrets(row),
  busy: unavailable,
}

/** People change secrets by hand, now and then. */
const CHANGE_ATTEMPTS_MAX = 5

const change = (
  dynamo: Dynamo,
  decide: (secrets: TicketSecrets) => SecretsChange,
): Promise<SecretsChanged> =>
  changeRow<TicketSecrets | undefined, SecretsChanged>(dynamo, {
    ...secretsRow,
    attemptsMax: CHANGE_ATTEMPTS_MAX,
    decide(before) {
      if (before === undefined) return { answer: { kind: 'none' } }
      const answer = decide(before)
      if (answer.kind === 'settling' || answer.secrets === before) return { answer }
      return { answer, row: encodeSecrets(answer.secrets) }
    },
  })

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

function checkSecret(secret: Uint8Array): void {
  if (secret.byteLength >= SECRET_BYTES_MIN) return
  throw unusable(
    'secret',
    `it must have at least ${SECRET_BYTES_MIN} bytes, not ${secret.byteLength}`,
  )
}

/** One process's copy of the table's secrets. */
export class TableSecrets implements SecretsReader {
  readonly #clock: Clock
  readonly #former: readonly Uint8Array[]
  readonly #row: KeptReading<TicketSecrets>

  constructor(dynamo: Dynamo, clock: Clock, former: readonly Uint8Array[]) {
    this.#clock = clock
    this.#former = former
    this.#row = new KeptReading(clock, () => readOrMake(dynamo), SECRETS_KEPT_MS)
  }

  async get(): Promise<Secrets> {
    const { value } = await this.#row.get()
    return [...secretsAt(value, this.#clock.nowMs()), ...this.#former]
  }
}

/** Only one process can make the row, so a second look finds it. */
const ATTEMPTS_MAX = 3

/**
 * The first process that needs a secret makes it. While idle, the row costs nothing, and a role that may read it may
 * change the limits anyway.
 */
const readOrMake = (dynamo: Dynamo): Promise<TicketSecrets> =>
  changeRow<TicketSecrets | undefined, TicketSecrets>(dynamo, {
    ...secretsRow,
    attemptsMax: ATTEMPTS_MAX,
    decide(found) {
      if (found !== undefined) return { answer: found }
      const made = firstSecrets(randomBytes(SECRET_BYTES))
      return { answer: made, row: encodeSecrets(made) }
    },
  })

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

type SecretsChange =
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

/** `s`: the newest secret; `at`: when it begins to sign, in ms; `f`: the secrets before it. */
type SecretRow = {
  readonly s: Uint8Array
  readonly at?: number
  readonly f?: readonly Uint8Array[]
}

const encodeSecrets = ({ newest, signsFromMs, former }: TicketSecrets): Row => ({
  ...secretKey,
  s: newest,
  ...(signsFromMs > 0 && { at: signsFromMs }),
  ...(former.length > 0 && { f: former }),
})

function decodeSecrets(row: Row | undefined): TicketSecrets | undefined {
  if (row === undefined) return undefined
  const { s: newest, at: signsFromMs = 0, f: former = [] } = row as SecretRow
  return { newest, signsFromMs, former }
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
function storeTime(client: DynamoDBClient | DocumentPort, clock: Clock): StoreTime {
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
