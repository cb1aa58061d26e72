// One process of a function. Its states: *starting* (loading the code), *idle*, *busy* with one event, *ended*. It ends
// when the pool kills it, when the event takes longer than the function may, when its code cannot be loaded, and when
// it dies by itself; each time the event's caller gets an outcome.

import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type StoreEndpoints, storeEnvironment } from '../stores/store-api.ts'
import { QUEUES_URL, REGION } from '../template/identities.ts'
import type { FunctionPlan } from '../template/plan-functions.ts'
import {
  type Ending,
  type FunctionOutput,
  failure,
  type Invocation,
  type LogLine,
  type Outcome,
  parseLine,
  type Report,
  readLines,
} from './messages.ts'

export type ProcessSettings = {
  readonly plan: FunctionPlan
  readonly endpoints: Endpoints
  readonly onOutput: (output: FunctionOutput) => void
}

/** Lambda's limit for loading the code. */
const INIT_MS_MAX = 10_000

/** A function that runs out of memory, or crashes, ends by another signal. */
const fromOutside: ReadonlySet<NodeJS.Signals | null> = new Set(['SIGKILL', 'SIGTERM'])

const runner = join(import.meta.dirname, 'runner.mjs')

export class FunctionProcess {
  readonly ended: Promise<void>
  /** `undefined` once it is ready for events, else why it never will be. */
  readonly started: Promise<Outcome | undefined>
  readonly plan: FunctionPlan
  readonly #onOutput: ProcessSettings['onOutput']
  readonly #child: ChildProcess
  #settle: ((outcome: Outcome | undefined) => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #summary: LogLine | undefined
  #isUsable = true

  constructor({ plan, endpoints, onOutput }: ProcessSettings) {
    this.plan = plan
    this.#onOutput = onOutput
    // The argument shows in a list of processes.
    this.#child = fork(runner, [plan.id], {
      cwd: plan.codeDirectory,
      env: environmentOf(plan, endpoints, randomBytes(16).toString('hex')),
      execArgv: [`--max-old-space-size=${heapMb(plan.memoryMb)}`, '--enable-source-maps'],
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.ended = new Promise((resolve) => {
      const end = (reason: string, wasKilled = false) => {
        this.#isUsable = false
        const ended = failure('Runtime.ExitError', `the process of the function ended: ${reason}`)
        this.#finish({ ...ended, ...(wasKilled && { wasKilled }) })
        resolve()
      }
      // Take the earlier of "exit" and "close": an orphan process of the function may hold its output open.
      this.#child.once('exit', (code, signal) =>
        end(String(signal ?? `exit code ${code}`), fromOutside.has(signal) && this.#isUsable),
      )
      this.#child.once('error', (error) => end(error.message))
    })
    this.#child.on('message', (report: Report) => this.#hear(report))
    for (const stream of ['stdout', 'stderr'] as const) {
      const pipe = this.#child[stream]
      if (pipe) readLines(pipe, (text) => this.#take(stream, text))
    }
    this.started = new Promise((resolve) => {
      this.#settle = resolve
      this.#limit(INIT_MS_MAX, 'loading its code')
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Whether it can be given an event when it has none. */
  get isUsable(): boolean {
    return this.#isUsable
  }

  /** Call this only when the process is idle. */
  invoke(event: string): Promise<Outcome> {
    const { arn, timeoutMs } = this.plan
    const invocation: Invocation = {
      requestId: randomUUID(),
      traceId: newTraceId(),
      arn,
      deadlineMs: Date.now() + timeoutMs,
      event,
    }
    return new Promise((resolve) => {
      this.#settle = (outcome) => resolve(outcome ?? failure('Runtime.Unknown', 'no answer'))
      this.#summary = undefined
      this.#limit(timeoutMs, 'an event')
      // If it cannot be sent the process is dying, and its end is what settles this.
      this.#child.send(invocation, () => {})
    })
  }

  /** Tells its event that it has no more time than until then. */
  endSoon(endsAtMs: number): void {
    const ending: Ending = { endsAtMs }
    this.#child.send(ending, () => {})
  }

  kill(): void {
    this.#isUsable = false
    this.#child.kill('SIGKILL')
  }

  #limit(ms: number, doing: string): void {
    this.#timer = setTimeout(() => {
      const seconds = (ms / 1000).toFixed(2)
      const message = `Task timed out after ${seconds} seconds`
      this.#take('stderr', `${message} with ${doing}`)
      this.kill()
      this.#finish(failure('Sandbox.Timedout', message))
    }, ms)
  }

  #hear(report: Report): void {
    switch (report.kind) {
      case 'ready':
        this.#finish(undefined)
        break
      case 'broken':
        this.kill()
        this.#finish({ kind: 'failed', payload: report.payload })
        break
      case 'answered':
      case 'failed':
        this.#finish(report)
        break
      default:
        report satisfies never
    }
  }

  #finish(outcome: Outcome | undefined): void {
    clearTimeout(this.#timer)
    const settle = this.#settle
    this.#settle = undefined
    // It wrote its output before its answer, but to another channel, and if both are ready we may read
    // either first. After a whole turn of the event loop we have read both.
    afterTurn(() => {
      settle?.(outcome && { ...outcome, ...(this.#summary && { summary: this.#summary }) })
    })
  }

  #take(stream: 'stdout' | 'stderr', text: string): void {
    const json = parseLine(text)
    if (stream === 'stdout' && json?.message === 'request') this.#summary = json
    this.#onOutput({ functionId: this.plan.id, stream, text, json })
  }
}

/** The first is before what the loop waits for next, the second behind it. */
const afterTurn = (work: () => void): void => {
  setImmediate(() => setImmediate(work))
}

/** As X-Ray writes it: the time in it is in seconds, in hexadecimal. */
export function newTraceId(): string {
  const seconds = Math.floor(Date.now() / 1000).toString(16)
  return `Root=1-${seconds}-${randomBytes(12).toString('hex')};Sampled=0`
}

export type Endpoints = StoreEndpoints & {
  /** Where PutEvents goes. */
  readonly eventBridgeEndpoint: string
  /** Where one function calls another. */
  readonly lambdaEndpoint: string
  /** For each API, its address on AWS and its local one. */
  readonly apiAddresses: ReadonlyMap<string, string>
}

/**
 * The environment of a function: the template's variables, and those that Lambda adds. We pass none of this
 * process's: code that works here only because of a variable in your shell would fail once deployed.
 */
function environmentOf(
  plan: FunctionPlan,
  endpoints: Endpoints,
  logStream: string,
): Record<string, string> {
  return {
    ...withLocalAddresses(plan.environment, endpoints),
    ...storeEnvironment(endpoints),
    AWS_DEFAULT_REGION: REGION,
    AWS_ENDPOINT_URL_EVENTBRIDGE: endpoints.eventBridgeEndpoint,
    AWS_ENDPOINT_URL_LAMBDA: endpoints.lambdaEndpoint,
    AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
    AWS_LAMBDA_FUNCTION_NAME: plan.name,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(plan.memoryMb),
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${plan.name}`,
    AWS_LAMBDA_LOG_STREAM_NAME: logStream,
    LAMBDA_TASK_ROOT: plan.codeDirectory,
    _HANDLER: plan.handler,
    LANG: 'en_US.UTF-8',
    TZ: ':UTC',
    // Without it Node cannot open a socket on Windows.
    ...(process.env.SystemRoot && { SystemRoot: process.env.SystemRoot }),
  }
}

/** A function that calls one of the APIs or queues has its address from the template, and must find it here. */
function withLocalAddresses(
  environment: Readonly<Record<string, string>>,
  { apiAddresses, sqsEndpoint = QUEUES_URL }: Endpoints,
): Record<string, string> {
  const addresses = [...apiAddresses, [QUEUES_URL, sqsEndpoint] as const]
  const local = (value: string) =>
    addresses.reduce((text, [there, here]) => text.replaceAll(there, here), value)
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [name, local(value)]),
  )
}

/** Leaves room for Node's buffers and code, as Lambda does. */
const heapMb = (memoryMb: number): number => Math.floor(memoryMb * 0.9)
