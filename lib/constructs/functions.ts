import type { EventBus } from 'aws-cdk-lib/aws-events'
import type { IRole } from 'aws-cdk-lib/aws-iam'
import type { Duration } from 'aws-cdk-lib/core'
import type { Construct } from 'constructs'
import type { FunctionName, OptionalFunctionName } from '../../lambdas/runtime/names.ts'
import { variables } from '../../lambdas/runtime/names.ts'
import { BundledHandlers } from '../bundling/bundled-code.ts'
import {
  announceFiles,
  announceSetting,
  applyInboxSetting,
  type Concurrency,
  functionSettings,
  handlerFiles,
  inboxFiles,
  rateFiles,
  wakeSetting,
} from './function-settings.ts'
import type { Inbox } from './inbox.ts'
import { letCall } from './let-call.ts'
import { type QueueConfigPattern, queueConfigText } from './queue-config.ts'
import { type CommonSettings, ServiceFunction } from './service-function.ts'
import type { Storage } from './storage.ts'
import { type StorageAccess, storageAccess } from './storage-access.ts'

export const logLevels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof logLevels)[number]

type FunctionsProps = CommonSettings & {
  readonly serviceName: string
  readonly storage: Storage
  readonly logLevel: LogLevel
  readonly sweepEvery: Duration | undefined
  readonly idempotencyTtl: Duration | undefined
  readonly remindAfter: Duration | undefined
  readonly rateHold: Duration | undefined
  readonly queueConfig: readonly QueueConfigPattern[] | undefined
  readonly waitingPops: number | undefined
  readonly concurrency: Concurrency
  /** Without it nothing announces queues, and the engine leaves out the flags for that. */
  readonly bus: EventBus | undefined
  /** Without it we apply each push at once, whatever its caller prefers. */
  readonly inbox: Inbox | undefined
  /** Without it locks end at the minute's sweep. */
  readonly wake: boolean
}

export type Functions = Readonly<Record<FunctionName, ServiceFunction>> &
  Readonly<Partial<Record<OptionalFunctionName, ServiceFunction>>>

type Environment = Readonly<Record<string, string>>
type MadeHere = FunctionName | 'ApplyInbox' | 'Wake'

const settings = { ...functionSettings, ApplyInbox: applyInboxSetting, Wake: wakeSetting }

/**
 * Makes nine functions, each with the rights of its duty, and those that a setting brings or leaves out. They are in
 * the caller's scope, so that they are called `Push` and not `FunctionsPush`: people type these names.
 */
export function makeFunctions(scope: Construct, props: FunctionsProps): Functions {
  const { storage, logRetention, tracing, throwaway, concurrency, bus, inbox } = props
  const handlers = new BundledHandlers(handlerFiles)
  const rateHandler = new BundledHandlers(rateFiles)
  const inboxHandlers = new BundledHandlers(inboxFiles)
  const codeOf = (name: MadeHere) => {
    if (name === 'Rate') return rateHandler.code(name)
    if (name === 'ApplyInbox') return inboxHandlers.code(name)
    return name === 'Push' && inbox ? inboxHandlers.code('PushInbox') : handlers.code(name)
  }
  const make = (name: MadeHere, environment: Environment): ServiceFunction => {
    const made = new ServiceFunction(scope, name, {
      setting: settings[name],
      code: codeOf(name),
      concurrency: name === 'Wake' ? undefined : concurrency[name],
      environment,
      logRetention,
      tracing,
      throwaway,
    })
    const access: StorageAccess | undefined = storageAccess[name]
    if (access !== undefined) {
      storage.grant(made, access)
      if (access.objects !== undefined) storage.acceptAccess(made.role as IRole)
    }
    return made
  }
  const { every, rated, pushed, stored, popped, swept, announcing, applied } = environments(props)
  const Wake = props.wake ? make('Wake', stored) : undefined
  const waking = Wake && { [variables.wake]: Wake.functionName }
  const functions: Functions = {
    Push: make('Push', pushed),
    Pop: make('Pop', popped),
    Settle: make('Settle', stored),
    Inspect: make('Inspect', stored),
    Manage: make('Manage', stored),
    Rate: make('Rate', rated),
    ReturnExpiredLocks: make('ReturnExpiredLocks', { ...swept, ...waking }),
    Housekeep: make('Housekeep', { ...stored, ...waking }),
    Health: make('Health', every),
    ...(bus && {
      Announce: new ServiceFunction(scope, 'Announce', {
        setting: announceSetting,
        // A separate build: in a common one, esbuild would put everything that both clients could reach into
        // chunks that are loaded at the start, and all functions would start with parts of EventBridge's.
        code: new BundledHandlers(announceFiles).code('Announce'),
        environment: announcing,
        concurrency: concurrency.Announce,
        logRetention,
        tracing,
        throwaway,
      }),
    }),
    ...(inbox && { ApplyInbox: make('ApplyInbox', applied) }),
    ...(Wake && { Wake }),
  }
  if (Wake) letCall(Wake, [functions.ReturnExpiredLocks, functions.Housekeep])
  inbox?.grantSend(functions.Push)
  return functions
}

/** The variables that `lambdas/runtime` reads. The function that anybody may call does not get the table's name. */
function environments({
  serviceName,
  storage,
  logLevel,
  sweepEvery,
  idempotencyTtl,
  rateHold,
  waitingPops,
  remindAfter,
  queueConfig,
  bus,
  inbox,
}: FunctionsProps) {
  const every = { [variables.service]: serviceName, [variables.logLevel]: logLevel }
  const onTable = { ...every, [variables.table]: storage.table.tableName }
  const rated = {
    ...onTable,
    ...(rateHold && { [variables.rateHoldMs]: String(wholeMs(rateHold)) }),
  }
  const stored = {
    ...onTable,
    [variables.bucket]: storage.bucket.bucketName,
    ...(idempotencyTtl && {
      [variables.idempotencyTtlSeconds]: String(idempotencyTtl.toSeconds()),
    }),
    ...(remindAfter && { [variables.remindAfterSeconds]: String(remindAfter.toSeconds()) }),
    // The flags would cost a pop of the last item one write, and nobody would read them.
    ...(!bus && { [variables.events]: 'off' }),
  }
  const pushed = { ...stored, ...(inbox && { [variables.inbox]: inbox.queue.queueUrl }) }
  const applied = {
    ...pushed,
    ...(inbox && { [variables.inboxFailures]: inbox.failures.queueUrl }),
  }
  const popped = {
    ...stored,
    ...(waitingPops !== undefined && { [variables.waitingPops]: String(waitingPops) }),
  }
  const swept = {
    ...stored,
    ...(sweepEvery && { [variables.sweepEverySeconds]: String(sweepEvery.toSeconds()) }),
    ...(queueConfig && { [variables.queueConfig]: queueConfigText(queueConfig) }),
  }
  const announcing = { ...every, ...(bus && { [variables.eventBus]: bus.eventBusArn }) }
  return { every, rated, pushed, stored, popped, swept, announcing, applied }
}

const wholeMs = (time: Duration): number => Math.round(time.toMilliseconds({ integral: false }))
