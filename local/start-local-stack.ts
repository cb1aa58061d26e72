// A synthesised CDK app on this machine: its tables and buckets on the embedded stores, its functions in separate
// processes, its HTTP API on a port, its schedules, streams and buses.
//
// It starts from the outside in, so that we find first what is most likely to go wrong (the port, the data
// folder). It stops the same way: no new requests, then those in flight, then the functions, then the
// stores.

import { resolve } from 'node:path'
import { nameMeant } from '../shared/options.ts'
import type { FunctionOutput, Outcome } from './functions/messages.ts'
import { type Functions, startFunctions } from './functions/start-functions.ts'
import { type Gateways, type RequestRecord, startGateways } from './gateway/gateway.ts'
import { StartError } from './start-error.ts'
import { type EventSources, startEventSources } from './start-event-sources.ts'
import { type Stores, type StoresOptions, startStores } from './stores/start-stores.ts'
import type { StoreEndpoints } from './stores/store-api.ts'
import type { GivenUp } from './streams/stream-mapping.ts'
import { cacheOf, projectOf, pushPop, synthesiseApp } from './synthesis/synthesise-app.ts'
import { readAssembly } from './template/assembly.ts'
import { apiEndpoint } from './template/identities.ts'
import { type Plan, planStack } from './template/plan.ts'
import { SourceWatch } from './watch/watch-sources.ts'

export type LocalStackOptions = StoresOptions & {
  /** 0 means any free port. Default: 8000. */
  readonly port?: number | undefined
  /** The file of the CDK app to run. Default: PushPop's own. */
  readonly app?: string | undefined
  /** Settings, as `-c name=value` would give them to the CDK. */
  readonly context?: Readonly<Record<string, unknown>> | undefined
  /** A folder with a cloud assembly, instead of synthesising one. */
  readonly assembly?: string | undefined
  /** Runs changed handlers as soon as their files are written. */
  readonly watch?: boolean | undefined
  /** How many processes a function may have at once. Default: 8, or more if the function lets calls wait. */
  readonly processesMax?: number | undefined
  /** 60 makes each minute of the schedules a second. */
  readonly scheduleSpeed?: number | undefined
  /** Puts something between the functions and their stores, such as faults for a test. */
  readonly interpose?: ((endpoints: StoreEndpoints) => StoreEndpoints) | undefined
  /** Files that do not count as sources of the app, although they are among them. */
  readonly noSource?: readonly string[] | undefined
  readonly listeners?: Partial<Listeners> | undefined
  /** Aborts the start. */
  readonly signal?: AbortSignal | undefined
}

export type Listeners = {
  readonly onProgress: (step: string) => void
  readonly onRequest: (request: RequestRecord) => void
  readonly onOutput: (output: FunctionOutput) => void
  /** Something that you should know and that stops nothing. */
  readonly onNotice: (sentence: string) => void
}

export type LocalStack = StoreEndpoints & {
  /** The address of the first API: the service's own, if there is one. */
  readonly url: string
  /** The addresses of all APIs, by logical id. The first has the requested port, the others those after it. */
  readonly urls: Readonly<Record<string, string>>
  /** Where the data is. */
  readonly directory: string
  readonly plan: Plan
  /** Runs the function of this logical id once. If it fails, that is an outcome, not an error. */
  invoke(functionId: string, event: unknown): Promise<Outcome>
  /** The processes of all functions, as they are now. */
  functionPids(): readonly number[]
  /** Batches of the streams that were given up, the newest last. */
  readonly givenUp: readonly GivenUp[]
  /** Resolves if the stack cannot go on; stop it then. */
  readonly failed: Promise<Error>
  stop(): Promise<void>
}

export const PORT = 8000

/** `docker stop` and its like give 10 s in all. */
const REQUESTS_GRACE_MS = 7_000
/** After this, we no longer wait for events: they are delivered again. A consumer's run takes no further batch. */
const EVENTS_GRACE_MS = 1_000
/** Enough to look at; a queue on AWS would keep them for days. */
const GIVEN_UP_MAX = 100

type Running = {
  watch?: SourceWatch
  gateways?: Gateways
  stores?: Stores
  functions?: Functions
  sources?: EventSources
}

export async function startLocalStack(options: LocalStackOptions = {}): Promise<LocalStack> {
  const running: Running = {}
  try {
    return await start(options, running)
  } catch (error) {
    await stop(running)
    throw error
  }
}

async function stop({ watch, gateways, stores, functions, sources }: Running): Promise<void> {
  await watch?.stop()
  sources?.pause()
  await gateways?.close(REQUESTS_GRACE_MS)
  await functions?.stop(EVENTS_GRACE_MS)
  await sources?.stop()
  await stores?.stop()
}

async function start(options: LocalStackOptions, running: Running): Promise<LocalStack> {
  const { signal, listeners = {} } = options
  const { onProgress = ignore, onNotice = ignore } = listeners
  const givenUp: GivenUp[] = []

  const gateways = await startGateways(options.port ?? PORT)
  running.gateways = gateways
  onProgress('Starting DynamoDB, S3 and SQS')
  const stores = await startStores(options, gateways.url)
  running.stores = stores
  const { directory, endpoints, failed } = stores

  const assembly = await assemblyOf(options, directory, onProgress)
  const plan = planStack(readAssembly(assembly))
  await gateways.add(plan.apis)
  signal?.throwIfAborted()
  onProgress('Making tables, buckets and queues')
  const { streamArns, isRestart } = await stores.make(plan)
  signal?.throwIfAborted()

  const functions = await startFunctionsOf(plan, options, { stores, gateways })
  running.functions = functions
  // The last run may have ended with events on their way, and with functions in the middle of their work. This comes
  // before the sources start, because the first event that they bring has to wait for it.
  if (isRestart) void functions.losses.afterRestart()
  running.sources = startEventSources({
    plan,
    stores,
    streamArns,
    functions,
    scheduleSpeed: options.scheduleSpeed ?? 1,
    onGivenUp(one) {
      givenUp.push(one)
      if (givenUp.length > GIVEN_UP_MAX) givenUp.shift()
    },
    onNotice,
  })
  functions.begin()
  gateways.open({
    onRequest: listeners.onRequest ?? ignore,
    async invoke({ functionArn }, event, expiresAtMs) {
      const pool = functions.pools.get(functionArn)
      return pool ? pool.invoke(event, expiresAtMs) : { kind: 'throttled' }
    },
  })
  if (options.watch) running.watch = watchSources(plan, options, stores, functions)
  return stackOf(running, { ...endpoints, gateways, directory, plan, functions, givenUp, failed })
}

function startFunctionsOf(
  plan: Plan,
  { interpose, processesMax, listeners = {} }: LocalStackOptions,
  { stores, gateways }: { readonly stores: Stores; readonly gateways: Gateways },
): Promise<Functions> {
  const { onOutput = ignore, onNotice = ignore } = listeners
  const { urls } = gateways
  return startFunctions({
    plan,
    apiAddresses: new Map(plan.apis.map(({ id, name }) => [apiEndpoint(id), urls[name] ?? ''])),
    ...stores.endpoints,
    ...interpose?.(stores.endpoints),
    sqs: stores.sqs,
    processesMax,
    isAlone: stores.isOwn,
    watch: stores.watch,
    forget: stores.forget,
    onOutput,
    onNotice,
  })
}

function watchSources(
  plan: Plan,
  { assembly, app = pushPop, listeners = {}, ...options }: LocalStackOptions,
  { directory }: Stores,
  functions: Functions,
): SourceWatch {
  if (assembly !== undefined) {
    throw new StartError('Cannot watch the sources because a finished assembly has none')
  }
  const root = projectOf(resolve(app))
  return new SourceWatch({
    root,
    except: [directory],
    cache: cacheOf(root),
    plan,
    async synthesise(signal) {
      const folder = await assemblyOf({ ...options, app, signal }, directory, ignore)
      return planStack(readAssembly(folder))
    },
    replace: (plans) => functions.replace(plans),
    onNotice: listeners.onNotice ?? ignore,
  })
}

type Parts = Pick<LocalStack, 'directory' | 'plan' | 'givenUp' | 'failed'> &
  StoreEndpoints & { readonly gateways: Gateways; readonly functions: Functions }

function stackOf(running: Running, { gateways, functions, ...parts }: Parts): LocalStack {
  let stopped: Promise<void> | undefined
  return {
    ...parts,
    url: gateways.url,
    urls: gateways.urls,
    functionPids: () => [...functions.pools.values()].flatMap((pool) => pool.pids),
    async invoke(functionId, event) {
      const pool = [...functions.pools.values()].find((it) => it.plan.id === functionId)
      if (pool) return functions.asyncInvoker.invoke(pool.plan.arn, JSON.stringify(event))
      throw noSuchFunction(
        functionId,
        [...functions.pools.values()].map((it) => it.plan.id),
      )
    },
    stop() {
      stopped ??= stop(running)
      return stopped
    },
  }
}

async function assemblyOf(
  { assembly, app = pushPop, context, noSource = [], signal }: LocalStackOptions,
  dataDirectory: string,
  onProgress: Listeners['onProgress'],
): Promise<string> {
  if (assembly !== undefined) return assembly
  return synthesiseApp({
    app,
    except: [dataDirectory, ...noSource.map((file) => resolve(file))],
    onStart: () => onProgress('Synthesising the stack'),
    context,
    signal,
  })
}

const ignore = () => {}

/** A construct's id is not the logical id of its function: so the error says which there are. */
function noSuchFunction(functionId: string, ids: readonly string[]): StartError {
  const meant = nameMeant(functionId, ids)
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`
  return new StartError(
    `Cannot run ${functionId} because no function of the template has this logical id${hint} ` +
      `(${ids.toSorted().join(', ')})`,
  )
}
