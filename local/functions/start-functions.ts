// All functions of a template, and the event buses between them: what one function puts on a bus becomes
// an event of another.

import { existsSync } from 'node:fs'
import { utimes } from 'node:fs/promises'
import { dirname } from 'node:path'
import { EventBuses, QueueDelivery, startPutEventsServer } from '../events/event-bus.ts'
import { Losses } from '../events/losses.ts'
import { StartError } from '../start-error.ts'
import type { SqsApi, StoreEndpoints } from '../stores/store-api.ts'
import type { Plan } from '../template/plan.ts'
import type { FunctionPlan } from '../template/plan-functions.ts'
import type { TargetPlan } from '../template/plan-sources.ts'
import { AsyncInvoker, startInvokeServer } from './async-invoker.ts'
import { FunctionPool } from './function-pool.ts'
import type { Endpoints } from './function-process.ts'
import type { FunctionOutput } from './messages.ts'

type FunctionsSettings = StoreEndpoints & {
  readonly plan: Plan
  readonly sqs: SqsApi
  readonly apiAddresses: Endpoints['apiAddresses']
  /** For each function; by default as many as are good for it. */
  readonly processesMax?: number | undefined
  /** Only this stack runs functions on these stores. */
  readonly isAlone: boolean
  readonly watch: (pid: number) => void
  readonly forget: (pid: number) => void
  readonly onOutput: (output: FunctionOutput) => void
  readonly onNotice: (sentence: string) => void
}

export type Functions = {
  /** By ARN. */
  readonly pools: ReadonlyMap<string, FunctionPool>
  readonly asyncInvoker: AsyncInvoker
  readonly losses: Losses
  /** Hands an event to a function or a queue. Leaves it out while the function has one with the same key. */
  deliver(target: TargetPlan, input: string, key?: string): void
  /** Sends the events that functions get at each start. */
  begin(): void
  /** Runs these functions by their new plans. */
  replace(plans: readonly FunctionPlan[]): Promise<void>
  stop(graceMs: number): Promise<void>
}

/** At some 100 MB each, and five functions that may be busy at the same time, 4 GB. */
const PROCESSES_MAX = 8
/**
 * The function holds a call that waits for its turn in a rate limit for 2 s, or up to 20 if set, and
 * each such call takes a process, which does nothing meanwhile. With the usual number, the ninth caller would
 * wait for the turns of the first eight, and the limiter would find that event too old to decide on. These
 * processes take another 4 GB at worst; further callers wait, or take a ticket. We start them four times as
 * soon as others, because we know that the busy ones will not be done in a moment.
 */
const HOLDING_PROCESSES_MAX = 64
const HOLDING_PATIENCE_MS = 60

export async function startFunctions(settings: FunctionsSettings): Promise<Functions> {
  const { plan, onNotice } = settings
  const pools = new Map<string, FunctionPool>()
  const losses: Losses = new Losses({
    functions: plan.functions,
    submit: (arn, event, key) => asyncInvoker.submit(arn, event, key),
    invoke: (arn, event, beginsByMs) => asyncInvoker.invoke(arn, event, beginsByMs),
    hold: () => asyncInvoker.hold(),
    onNotice,
    isAlone: settings.isAlone,
  })
  const asyncInvoker = new AsyncInvoker({
    pools,
    onDropped: (id, event, reason) => losses.dropped(id, event, reason),
    onAnswered: (id) => losses.answered(id),
  })
  const { dynamodbEndpoint, s3Endpoint, sqsEndpoint, apiAddresses } = settings
  const toQueues = new QueueDelivery({ sqs: settings.sqs, onNotice })
  const deliver: Functions['deliver'] = (target, input, key) => {
    if ('queueUrl' in target) toQueues.deliver(target, input)
    else asyncInvoker.submit(target.functionArn, input, key)
  }
  const buses = new EventBuses({ buses: plan.buses, rules: plan.eventRules, deliver })
  const server = await startPutEventsServer(buses)
  const invokeServer = await startInvokeServer(plan.functions, asyncInvoker)
  const endpoints = {
    dynamodbEndpoint,
    s3Endpoint,
    sqsEndpoint,
    eventBridgeEndpoint: server.endpoint,
    lambdaEndpoint: invokeServer.endpoint,
    apiAddresses,
  }
  for (const one of plan.functions) {
    checkCode(one)
    pools.set(one.arn, poolOf(one, endpoints, settings))
  }
  const endKeeping = keepCode(() => [...pools.values()].map((pool) => pool.plan))
  const begin = (plans: readonly FunctionPlan[]) => {
    for (const { arn, atStart } of plans) {
      if (atStart) asyncInvoker.submit(arn, JSON.stringify(atStart))
    }
  }
  return {
    pools,
    asyncInvoker,
    losses,
    deliver,
    begin: () => begin(plan.functions),
    async replace(plans) {
      for (const one of plans) checkCode(one)
      // Before the old processes end: a new one must not begin between that and the end of their locks.
      const release = asyncInvoker.hold()
      try {
        await Promise.all(plans.map((one) => pools.get(one.arn)?.replace(one)))
        begin(plans)
        // A function that is still at work keeps its locks, so all locks stay.
        if (asyncInvoker.isAtWork()) losses.happened()
        else void losses.afterRestart()
      } finally {
        release()
      }
    },
    async stop(graceMs) {
      endKeeping()
      losses.stop()
      asyncInvoker.stop()
      toQueues.stop()
      await Promise.all([...pools.values()].map((pool) => pool.stop(graceMs)))
      server.stop()
      invokeServer.stop()
    },
  }
}

function poolOf(
  plan: FunctionPlan,
  endpoints: Endpoints,
  { processesMax, onOutput, watch, forget }: FunctionsSettings,
): FunctionPool {
  const { holdsCalls } = plan
  return new FunctionPool({
    plan,
    endpoints,
    processesMax: processesMax ?? (holdsCalls ? HOLDING_PROCESSES_MAX : PROCESSES_MAX),
    ...(holdsCalls && { patienceMs: HOLDING_PATIENCE_MS }),
    onOutput,
    onStart: watch,
    onEnd: forget,
  })
}

function checkCode({ id, codeDirectory }: FunctionPlan): void {
  if (existsSync(codeDirectory)) return
  throw new StartError(`Cannot run the function ${id} because its code is not at ${codeDirectory}`)
}

/** A day has room for some that come late, because the machine slept. */
const EVERY_MS = 3_600_000

/**
 * Marks the folders of the code that runs as used, now and then. Returns what ends that.
 *
 * A stack may run for days, while other starts of the same project delete what nobody seems to have used for a day
 * (synthesise-app.ts). A function that is called later, or again, must still find its code.
 */
export function keepCode(plans: () => readonly FunctionPlan[], everyMs = EVERY_MS): () => void {
  const timer = setInterval(() => {
    const now = new Date()
    // An assembly has a folder for each function; a bundle of `--watch` stands by itself.
    const folders = plans().flatMap(({ codeDirectory }) => [codeDirectory, dirname(codeDirectory)])
    // One that is gone, or not ours, is as it is.
    for (const folder of new Set(folders)) utimes(folder, now, now).catch(() => {})
  }, everyMs).unref()
  return () => clearInterval(timer)
}
