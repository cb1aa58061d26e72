import { join } from 'node:path'
import { AT_RESTART, HOLDS_CALLS } from '../../lib/constructs/function-settings.ts'
import { StartError } from '../start-error.ts'
import { isObject } from './assembly.ts'
import { numberOf, objectOf, textOf } from './property-values.ts'
import type { ResolvedResource, Resources } from './resources.ts'

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
  /** The event that it gets when the stack comes back to its data. */
  readonly atRestart?: object | undefined
  /** How often an event that nobody waits for is tried again. */
  readonly asyncRetriesMax: number
}

/** Lambda's own, where a template says nothing. */
const MEMORY_MB = 128
const TIMEOUT_SECONDS = 3
const ASYNC_RETRIES_MAX = 2

export function planFunctions(resources: Resources): FunctionPlan[] {
  const invokeConfigs = resources.ofType('AWS::Lambda::EventInvokeConfig')
  return resources.ofType('AWS::Lambda::Function').flatMap((resource) => {
    const assetPath = resource.metadata['aws:asset:path']
    const runtime = resource.property('Runtime')
    // The CDK's own helpers for a deployment: inline, or not for Node.
    if (typeof runtime !== 'string' || !runtime.startsWith('nodejs')) return []
    if (typeof assetPath !== 'string') {
      if (objectOf(resource, 'Code').ZipFile !== undefined) return []
      throw new StartError(
        `Cannot run the function ${resource.logicalId} because the template does not say where its ` +
          'code is; synthesise with the context aws:cdk:enable-asset-metadata',
      )
    }
    const invokeConfig = invokeConfigs.find(
      (config) => resources.find(resource.type, config.property('FunctionName')) === resource,
    )
    const retries = invokeConfig && numberOf(invokeConfig, 'MaximumRetryAttempts')
    const atRestart = resource.metadata[AT_RESTART]
    const reserved = numberOf(resource, 'ReservedConcurrentExecutions')
    return [
      {
        id: resource.logicalId,
        name: resource.ref,
        arn: resource.arn,
        handler: textOf(resource, 'Handler'),
        codeDirectory: join(resource.directory, assetPath),
        environment: environmentOf(resource),
        memoryMb: numberOf(resource, 'MemorySize') ?? MEMORY_MB,
        timeoutMs: (numberOf(resource, 'Timeout') ?? TIMEOUT_SECONDS) * 1000,
        ...(resource.metadata[HOLDS_CALLS] === true && { holdsCalls: true as const }),
        ...(isObject(atRestart) && { atRestart }),
        concurrencyMax: reserved,
        asyncRetriesMax: retries ?? ASYNC_RETRIES_MAX,
      },
    ]
  })
}

function environmentOf(resource: ResolvedResource): Record<string, string> {
  const { Variables } = objectOf(resource, 'Environment')
  return Object.fromEntries(
    Object.entries(Variables ?? {}).map(([name, value]) => [name, String(value)]),
  )
}
