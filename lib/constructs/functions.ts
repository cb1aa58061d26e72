// The functions of a service, each with its code, its environment, its role and only the rights of its duty.

import type { EventBus } from 'aws-cdk-lib/aws-events'
import { type IRole, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import {
  Architecture,
  type Code,
  Function as LambdaFunction,
  Runtime,
  RuntimeFamily,
  Tracing,
} from 'aws-cdk-lib/aws-lambda'
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs'
import { type CfnResource, Duration } from 'aws-cdk-lib/core'
import type { Construct } from 'constructs'
import { type QueueSettings, queuePatternsFrom } from '../../engine/core/settings.ts'
import {
  type FunctionName,
  type OptionalFunctionName,
  variables,
} from '../../lambdas/runtime/names.ts'
import type { LogLevel } from '../../shared/log-levels.ts'
import { BundledHandlers } from '../bundling/bundled-code.ts'
import { letCall } from './background.ts'
import { acceptFindings, kept } from './every-resource.ts'
import {
  announceFiles,
  announceSetting,
  applyInboxSetting,
  type Concurrency,
  type FunctionSetting,
  functionSettings,
  handlerFiles,
  inboxFiles,
  metadata,
  rateFiles,
  wakeSetting,
} from './function-settings.ts'
import type { Inbox } from './inbox.ts'
import { type Storage, type StorageAccess, storageAccess } from './storage.ts'

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

/** What all functions of a service have in common. */
export type CommonSettings = {
  readonly logRetention: RetentionDays
  readonly tracing: boolean
  readonly throwaway: boolean
}

type ServiceFunctionProps = CommonSettings & {
  readonly setting: FunctionSetting
  readonly code: Code
  readonly environment: Readonly<Record<string, string>>
  /** Default: as many as the account has. */
  readonly concurrency?: number | undefined
}

/** By its name: older versions of the CDK do not list it. */
const NODE_24 = new Runtime('nodejs24.x', RuntimeFamily.NODEJS)

/** One duty: a function with its own role and log group, and only the right to write to that log. */
export class ServiceFunction extends LambdaFunction {
  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    const { setting, tracing, concurrency } = props
    const logGroup = new LogGroup(scope, `${id}Logs`, {
      retention: props.logRetention,
      removalPolicy: kept(props.throwaway),
    })
    const role = roleOf(scope, id, logGroup)
    super(scope, id, {
      description: setting.description,
      runtime: NODE_24,
      // A fifth cheaper than x86 for the same work.
      architecture: Architecture.ARM_64,
      code: props.code,
      handler: 'index.handler',
      memorySize: setting.memoryMb,
      timeout: Duration.seconds(setting.timeoutSeconds),
      environment: { ...props.environment },
      role,
      logGroup,
      ...(concurrency !== undefined && { reservedConcurrentExecutions: concurrency }),
      tracing: tracing ? Tracing.ACTIVE : Tracing.DISABLED,
    })
    const resource = this.node.defaultChild as CfnResource
    if (setting.holdsCalls) resource.addMetadata(metadata.holdsCalls, true)
    if (setting.afterLoss) resource.addMetadata(metadata.afterLoss, setting.afterLoss)
    if (setting.afterRestart) resource.addMetadata(metadata.afterRestart, setting.afterRestart)
    if (setting.atStart) resource.addMetadata(metadata.atStart, setting.atStart)
    if (tracing) {
      acceptFindings(role, {
        'AwsSolutions-IAM5[Resource::*]':
          'X-Ray: PutTraceSegments and PutTelemetryRecords know no resources.',
      })
    }
  }
}

/** Replaces the managed AWSLambdaBasicExecutionRole, which may write to every log group of the account. */
function roleOf(scope: Construct, id: string, logGroup: LogGroup): Role {
  const role = new Role(scope, `${id}Role`, {
    assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
  })
  role.addToPolicy(
    new PolicyStatement({
      actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      resources: [logGroup.logGroupArn],
    }),
  )
  return role
}

/** Settings for all queues whose ids begin so; an absent setting has its default. */
export type QueueConfigPattern = { readonly prefix: string } & {
  readonly [Name in keyof QueueSettings]?: Name extends 'pushLimit' | 'popLimit'
    ? QueueConfigLimit
    : QueueSettings[Name]
}

/** How many calls per window. Default: a window of one second. */
export type QueueConfigLimit = {
  readonly maxRequests: number
  readonly windowMillis?: number
  readonly algorithm?: 'window' | 'smooth'
  readonly burst?: number
}

/**
 * A function's environment has 4,096 bytes. Names of tables and buckets and the other settings take some 270 to 450 of
 * them, and more with long names. The patterns and schedules of a deployment, which the sweeper gets there, may take
 * this many together.
 */
export const SWEEPER_BYTES_MAX = 3_400

/** Lambda measures an environment as JSON: each quote in a text of ours counts twice. */
export const bytesInEnvironment = (text: string): number => Buffer.byteLength(JSON.stringify(text))

/** As the sweeper's environment brings it: checked like a `PUT /queue-config`, and short enough. */
export function queueConfigText(patterns: readonly QueueConfigPattern[]): string {
  queuePatternsFrom(patterns.map(({ prefix, ...settings }) => ({ prefix, settings })))
  const text = JSON.stringify(patterns)
  const bytes = bytesInEnvironment(text)
  if (bytes <= SWEEPER_BYTES_MAX) return text
  throw new Error(
    `it takes ${bytes} bytes of a function's environment, each quote counted twice, which has room for ${SWEEPER_BYTES_MAX}: ` +
      'put so many patterns after the deployment, with `pushpop queue-config set`',
  )
}
