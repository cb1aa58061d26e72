// Functions of a template: their code, settings and environment; or why one cannot run here.

import { join } from 'node:path'
import { type Bundling, metadata } from '../../lib/constructs/function-settings.ts'
import { StartError } from '../start-error.ts'
import { isObject } from './assembly.ts'
import type { ResolvedResource, Resources } from './resources.ts'
import { numberOf, objectOf, textOf } from './resources.ts'

export type FunctionPlan = {
  /** The logical id, by which people know it. */
  readonly id: string
  readonly name: string
  readonly arn: string
  /** `index.handler`: the file, and what it exports. */
  readonly handler: string
  readonly codeDirectory: string
  readonly environment: Readonly<Record<string, string>>
  readonly memoryMb: number
  readonly timeoutMs: number
  /** The template's own limit of how many run at once. */
  readonly concurrencyMax?: number | undefined
  /** It holds calls while it does nothing, so many processes of it take no core from others. */
  readonly holdsCalls?: true | undefined
  /** The event that it gets when other events may have been lost. */
  readonly afterLoss?: object | undefined
  /** The same, when the stack comes back to its data, and no function of the one before is alive. */
  readonly afterRestart?: object | undefined
  /** The event that it gets at each start, and when it has changed. */
  readonly atStart?: object | undefined
  /** The sources of its bundle, if we can bundle it again. */
  readonly bundledFrom?: BundledFrom | undefined
  /** How often an event that nobody waits for is tried again. */
  readonly asyncRetriesMax: number
}

export type BundledFrom = {
  readonly entry: string
  /** All files in it that people write. */
  readonly files: readonly string[]
  /** What the construct was given. */
  readonly bundling?: Bundling | undefined
}

/** Lambda's own default. */
const MEMORY_MB = 128
const TIMEOUT_SECONDS = 3
const ASYNC_RETRIES_MAX = 2

/** The runtime of local functions. */
const RUNTIME = 'nodejs24.x'
/** In the metadata of a resource whose code the CDK has copied into the assembly. */
const ASSET_PATH = 'aws:asset:path'

export function planFunctions(resources: Resources, leftOut: string[]): FunctionPlan[] {
  const invokeConfigs = resources.ofType('AWS::Lambda::EventInvokeConfig')
  const helpers = deploymentHelpers(resources)
  const older = new Set<string>()
  const functions = resources.ofType('AWS::Lambda::Function').flatMap((resource) => {
    const obstacle = obstacleTo(resource)
    if (obstacle !== undefined) {
      if (helpers.has(resource)) return []
      throw new StartError(`Cannot run the function ${resource.logicalId} because ${obstacle}`)
    }
    const runtime = textOf(resource, 'Runtime')
    if (runtime !== RUNTIME && !helpers.has(resource)) older.add(runtime)
    const invokeConfig = invokeConfigs.find(
      (config) => resources.find(resource.type, config.property('FunctionName')) === resource,
    )
    return [planFunction(resource, invokeConfig)]
  })
  for (const runtime of older) leftOut.push(`Functions for ${runtime} run on Node 24 here.`)
  return functions
}

function planFunction(
  resource: ResolvedResource,
  invokeConfig: ResolvedResource | undefined,
): FunctionPlan {
  const { OnSuccess } = invokeConfig ? objectOf(invokeConfig, 'DestinationConfig') : {}
  if (OnSuccess !== undefined) {
    throw new StartError(
      `Cannot run the function ${resource.logicalId} because the local stack does not pass on what it ` +
        'answers to events (OnSuccess)',
    )
  }
  const retries = invokeConfig && numberOf(invokeConfig, 'MaximumRetryAttempts')
  const {
    [metadata.afterLoss]: afterLoss,
    [metadata.afterRestart]: afterRestart,
    [metadata.atStart]: atStart,
    [metadata.bundledFrom]: bundledFrom,
  } = resource.metadata
  return {
    id: resource.logicalId,
    name: resource.ref,
    arn: resource.arn,
    handler: textOf(resource, 'Handler'),
    codeDirectory: join(resource.directory, String(resource.metadata[ASSET_PATH])),
    environment: environmentOf(resource),
    memoryMb: numberOf(resource, 'MemorySize') ?? MEMORY_MB,
    timeoutMs: (numberOf(resource, 'Timeout') ?? TIMEOUT_SECONDS) * 1000,
    ...(resource.metadata[metadata.holdsCalls] === true && { holdsCalls: true as const }),
    ...(isObject(afterLoss) && { afterLoss }),
    ...(isObject(afterRestart) && { afterRestart }),
    ...(isObject(atStart) && { atStart }),
    ...(isObject(bundledFrom) && { bundledFrom: bundledFrom as BundledFrom }),
    concurrencyMax: numberOf(resource, 'ReservedConcurrentExecutions'),
    asyncRetriesMax: retries ?? ASYNC_RETRIES_MAX,
  }
}

/** The reason why a function cannot run here, if there is one. */
function obstacleTo(resource: ResolvedResource): string | undefined {
  const { ZipFile, ImageUri } = objectOf(resource, 'Code')
  const runtime = resource.property('Runtime')
  if (ImageUri !== undefined) return 'it is a container image, and the local stack runs files'
  if (typeof runtime !== 'string' || !runtime.startsWith('nodejs')) {
    return `the local stack runs Node, and its runtime is ${runtime ?? 'not given'}`
  }
  if (ZipFile !== undefined) return 'its code stands in the template itself: put it into a file'
  if (listOf(resource, 'Layers').length > 0) {
    return 'it has layers, which the local stack does not have: bundle what is in them'
  }
  if (listOf(resource, 'FileSystemConfigs').length > 0) {
    return 'it mounts a file system, which the local stack does not have'
  }
  if (typeof resource.metadata[ASSET_PATH] === 'string') return undefined
  return 'the template does not say where its code is; synthesise with the context aws:cdk:enable-asset-metadata'
}

/** Functions that only a deployment calls: those of custom resources, and those that these name. */
function deploymentHelpers(resources: Resources): ReadonlySet<ResolvedResource> {
  const functions = resources.ofType('AWS::Lambda::Function')
  const found = new Set<ResolvedResource>()
  const add = (pointers: string): void => {
    for (const one of functions) {
      if (found.has(one) || !pointers.includes(JSON.stringify(one.arn))) continue
      found.add(one)
      add(JSON.stringify(one.property('Environment') ?? null))
    }
  }
  for (const { type, property } of resources.all) {
    const isCustom = type.startsWith('Custom::') || type === 'AWS::CloudFormation::CustomResource'
    if (isCustom) add(JSON.stringify(property('ServiceToken') ?? null))
  }
  return found
}

const listOf = (resource: ResolvedResource, name: string): readonly unknown[] => {
  const value = resource.property(name)
  return Array.isArray(value) ? value : []
}

function environmentOf(resource: ResolvedResource): Record<string, string> {
  const { Variables } = objectOf(resource, 'Environment')
  return Object.fromEntries(
    Object.entries(Variables ?? {}).map(([name, value]) => [name, String(value)]),
  )
}
