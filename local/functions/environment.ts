import { type StoreEndpoints, storeEnvironment } from '../stores/store-environment.ts'
import { QUEUES_URL, REGION } from '../template/identities.ts'
import type { FunctionPlan } from '../template/plan-functions.ts'

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
export function environmentOf(
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
export const heapMb = (memoryMb: number): number => Math.floor(memoryMb * 0.9)
