import type { EventBus } from 'aws-cdk-lib/aws-events'
import type { IRole } from 'aws-cdk-lib/aws-iam'
import type { Duration } from 'aws-cdk-lib/core'
import type { Construct } from 'constructs'
import type { FunctionName } from '../../lambdas/runtime/function-name.ts'
import { variables } from '../../lambdas/runtime/variables.ts'
import { BundledHandlers } from '../bundling/bundled-code.ts'
import {
  announceFiles,
  announceSetting,
  type Concurrency,
  functionSettings,
  handlerFiles,
  rateFiles,
} from './function-settings.ts'
import { type QueueConfigPattern, queueConfigText } from './queue-config.ts'
import { type CommonSettings, ServiceFunction } from './service-function.ts'
import type { Storage } from './storage.ts'
import { type StorageAccess, storageAccess } from './storage-access.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

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
  /** Without it nothing is announced, and the engine leaves out the flags for it. */
  readonly bus: EventBus | undefined
}

export type Functions = Readonly<Record<FunctionName, ServiceFunction>> & {
  /** Only with events. */
  readonly Announce?: ServiceFunction
}

type Environment = Readonly<Record<string, string>>

/**
 * Makes nine functions, each with the rights of its duty, and the one that makes the events. They are in
 * the caller's scope, so that they are called `Push` and not `FunctionsPush`: people type these names.
 */
export function makeFunctions(scope: Construct, props: FunctionsProps): Functions {
  const { storage, logRetention, tracing, throwaway, concurrency, bus } = props
  const handlers = new BundledHandlers(handlerFiles)
  const rateHandler = new BundledHandlers(rateFiles)
  const make = (name: FunctionName, environment: Environment): ServiceFunction => {
    const code = name === 'Rate' ? rateHandler.code(name) : handlers.code(name)
    const common = { environment, logRetention, tracing, throwaway }
    const made = new ServiceFunction(scope, name, {
      setting: functionSettings[name],
      code,
      concurrency: concurrency[name],
      ...common,
    })
    const access: StorageAccess | undefined = storageAccess[name]
    if (access !== undefined) {
      storage.grant(made, access)
      if (access.objects !== undefined) storage.acceptAccess(made.role as IRole)
    }
    return made
  }
  const { every, rated, stored, popped, swept, announcing } = environments(props)
  return {
    Push: make('Push', stored),
    Pop: make('Pop', popped),
    Settle: make('Settle', stored),
    Inspect: make('Inspect', stored),
    Manage: make('Manage', stored),
    Rate: make('Rate', rated),
    ReturnExpiredLocks: make('ReturnExpiredLocks', swept),
    Housekeep: make('Housekeep', stored),
    Health: make('Health', every),
    ...(bus && {
      Announce: new ServiceFunction(scope, 'Announce', {
        setting: announceSetting,
        // A build of its own: in the same one, esbuild puts whatever both clients could reach into
        // chunks that are loaded at the start, and all would start with parts of EventBridge's.
        code: new BundledHandlers(announceFiles).code('Announce'),
        environment: announcing,
        concurrency: concurrency.Announce,
        logRetention,
        tracing,
        throwaway,
      }),
    }),
  }
}

/** What `lambdas/runtime` reads. The function that anybody may call gets no table's name. */
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
}: FunctionsProps): Readonly<
  Record<'every' | 'rated' | 'stored' | 'popped' | 'swept' | 'announcing', Environment>
> {
  const every = { [variables.service]: serviceName, [variables.logLevel]: logLevel }
  const onTable = { ...every, [variables.table]: storage.table.tableName }
  const rated = {
    ...onTable,
    ...(rateHold && { [variables.rateHoldMs]: String(rateHold.toMilliseconds()) }),
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
  return { every, rated, stored, popped, swept, announcing }
}
