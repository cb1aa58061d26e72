// Objects in S3: put, read and deleted, each request again and again for a while, because a second copy changes
// nothing. An object that is not there is `undefined`; one that nobody can read just now is an error that passes.

import type { S3Client } from '@aws-sdk/client-s3'
import { QueueError } from '../shared/errors.ts'
import type { Clock, Random } from './dynamo.ts'
import {
  answerTimeoutsMs,
  CLEAN_UP_MS,
  failureOf,
  hasDeadline,
  type SendOptions,
  withinDeadline,
  withoutSdkRetry,
} from './failures.ts'

/** Takes S3 commands: the SDK's client, or a simulation of it. */
export type ObjectPort = { send(command: never): Promise<unknown> }
/** The client, or how to make it: a function that never meets a long queue never loads S3. */
export type ObjectSource = S3Client | ObjectPort | (() => Promise<S3Client | ObjectPort>)

/** An object's key determines its contents, so we may repeat every request. */
const ATTEMPTS_MAX = 4
const BACKOFF_FIRST_MS = 40
/**
 * No attempt begins after this long. An answer may take 10 s, so if S3 hangs, a call ends after about 20 s,
 * and its function, which has 29 s, can still say what happened.
 */
const BEGIN_WITHIN_MS = 12_000
const DELETES_PER_REQUEST_MAX = 1_000

export class Objects {
  readonly #bucket: string
  readonly #source: ObjectSource
  readonly #clock: Clock
  readonly #random: Random
  readonly #onDenied: (error: unknown, key: string) => void
  readonly #answerTimeoutMs: number
  #deadlineMs = Number.POSITIVE_INFINITY

  #loaded: Promise<typeof import('@aws-sdk/client-s3')> | undefined

  /** `onDenied`: S3 would not say whether an object exists. We treat it as missing, but somebody should know. */
  constructor(
    source: ObjectSource,
    bucket: string,
    clock: Clock,
    random: Random,
    onDenied: (error: unknown, key: string) => void,
    answerTimeoutMs: number = answerTimeoutsMs.s3,
  ) {
    this.#onDenied = onDenied
    this.#source = source
    this.#bucket = bucket
    this.#clock = clock
    this.#random = random
    this.#answerTimeoutMs = answerTimeoutMs
  }

  /**
   * The same store for work that must end at this time. An answer may take a quarter of the remaining time, so that if
   * S3 hangs, some is left for going on without it.
   */
  until(deadlineMs: number): Objects {
    return this.#boundBy(Math.min(deadlineMs, this.#deadlineMs))
  }

  /** The same store, for a call that deletes what it wrote for nothing before its time was up. */
  cleaningUp(): Objects {
    return this.#boundBy(this.#deadlineMs + CLEAN_UP_MS)
  }

  #boundBy(deadlineMs: number): Objects {
    const bounded = new Objects(
      this.#source,
      this.#bucket,
      this.#clock,
      this.#random,
      this.#onDenied,
      this.#answerTimeoutMs,
    )
    bounded.#deadlineMs = deadlineMs
    return bounded
  }

  async put(key: string, body: Uint8Array): Promise<void> {
    const { PutObjectCommand } = await this.#sdk()
    const input = { Bucket: this.#bucket, Key: key, Body: body }
    await this.#send(() => new PutObjectCommand(input))
  }

  /** The object, or bytes [from, to) of it; `undefined` when it is not there. */
  async get(key: string, range?: { from: number; to: number }): Promise<Uint8Array | undefined> {
    const { GetObjectCommand } = await this.#sdk()
    const input = {
      Bucket: this.#bucket,
      Key: key,
      ...(range !== undefined && { Range: `bytes=${range.from}-${range.to - 1}` }),
    }
    const read = async (): Promise<Uint8Array | undefined> => {
      try {
        return await this.#sendOnce(new GetObjectCommand(input), bytesOf)
      } catch (error) {
        if (!(error instanceof Error) || error.name !== 'AccessDenied') throw error
        // S3 gives this answer to a role that may not list the bucket if the object does not exist, but also
        // if it exists and a policy or a key keeps us out.
        this.#onDenied(error, key)
        return undefined
      }
    }
    return this.#repeat(read)
  }

  async deleteMany(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return
    const { DeleteObjectsCommand } = await this.#sdk()
    for (let at = 0; at < keys.length; at += DELETES_PER_REQUEST_MAX) {
      const batch = keys.slice(at, at + DELETES_PER_REQUEST_MAX).map((Key) => ({ Key }))
      const input = { Bucket: this.#bucket, Delete: { Objects: batch, Quiet: true } }
      const output = await this.#send<{ Errors?: unknown[] }>(() => new DeleteObjectsCommand(input))
      if (output.Errors !== undefined && output.Errors.length > 0) {
        throw unavailable(new Error(`S3 could not delete ${output.Errors.length} objects`))
      }
    }
  }

  /** Loads the SDK when we first need it: most queues never use S3. */
  #sdk(): Promise<typeof import('@aws-sdk/client-s3')> {
    this.#loaded ??= import('@aws-sdk/client-s3')
    return this.#loaded
  }

  #send<T>(command: () => object): Promise<T> {
    return this.#repeat(() => this.#sendOnce(command(), (output) => output as T)) as Promise<T>
  }

  async #repeat<T>(request: () => Promise<T>): Promise<T | undefined> {
    const startedMs = this.#clock.nowMs()
    for (let attempt = 1; ; attempt += 1) {
      if (this.#clock.nowMs() >= this.#deadlineMs) {
        throw unavailable(new Error('The time for this work is up'))
      }
      try {
        return await request()
      } catch (error) {
        const failure = failureOf(error)
        if (failure === 'missing') return undefined
        if (failure === 'refused') throw error
        const isLate = this.#clock.nowMs() - startedMs >= BEGIN_WITHIN_MS
        if (attempt === ATTEMPTS_MAX || isLate) throw unavailable(error)
        await this.#clock.sleep(BACKOFF_FIRST_MS * 2 ** (attempt - 1) * (0.5 + this.#random() / 2))
      }
    }
  }

  /** The deadline also applies to reading the answer. */
  async #sendOnce<T>(command: object, read: (output: unknown) => Promise<T> | T): Promise<T> {
    const port = typeof this.#source === 'function' ? await this.#source() : this.#source
    const request = async (options?: SendOptions): Promise<T> =>
      read(await (port as SdkPort).send(withoutSdkRetry(command), options))
    const answerMs = Math.min(this.#answerTimeoutMs, (this.#deadlineMs - this.#clock.nowMs()) / 4)
    const isBounded = hasDeadline(port) && answerMs === this.#answerTimeoutMs
    return isBounded ? request() : withinDeadline(answerMs, request)
  }
}

type SdkPort = { send(command: object, options?: SendOptions): Promise<unknown> }

async function bytesOf(output: unknown): Promise<Uint8Array | undefined> {
  const { Body } = output as { Body?: { transformToByteArray(): Promise<Uint8Array> } }
  return Body?.transformToByteArray()
}

const unavailable = (cause: unknown): QueueError =>
  new QueueError(
    'SEGMENT_UNAVAILABLE',
    'A part of the queue cannot be read from S3 at the moment; try again shortly',
    { cause },
  )
