// A function's process: what Lambda's runtime for Node does, over a channel to the parent. It loads
// the handler, says so, and then takes one event at a time.
//
// Plain JavaScript, because compiling TypeScript would more than double the time it takes to start.

import { existsSync, realpathSync } from 'node:fs'
import { isBuiltin, registerHooks } from 'node:module'
import { join, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/**
 * @typedef {import('./messages.ts').Invocation} Invocation
 * @typedef {import('./messages.ts').Ending} Ending
 * @typedef {import('./messages.ts').Report} Report
 * @typedef {(event: unknown, context: object) => unknown} Handler
 */

/** The largest answer that Lambda accepts, in bytes of JSON. */
const ANSWER_BYTES_MAX = 6_291_556

// Without a parent nobody waits for an answer. (Busy with an endless loop this process does not
// notice; then the stores' host kills it.)
process.on('disconnect', () => process.exit())
// Ctrl-C reaches every process of the terminal's group, and the parent waits for our answers.
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => {})
}

/** @param {Report} report */
function report(report) {
  process.send?.(report, undefined, undefined, () => {})
}

const taskRoot = realpathSync(process.env.LAMBDA_TASK_ROOT ?? '.')
const bundle = pathToFileURL(taskRoot + sep).href

/** Packages that Lambda's runtime provides to the code that it runs. */
const ofTheRuntime = /^@(?:aws-sdk|smithy)\//

// On AWS, a function has only its bundle and the SDK. Here, Node would also look for modules in the folders above,
// where the project's node_modules contain packages that the bundle may lack.
registerHooks({
  resolve(specifier, context, next) {
    if (!context.parentURL?.startsWith(bundle) || isBuiltin(specifier)) {
      return next(specifier, context)
    }
    const isRequired = context.conditions?.includes('require') ?? false
    if (ofTheRuntime.test(specifier)) {
      try {
        return next(specifier, context)
      } catch (error) {
        if (!(/** @type {{ code?: string }} */ (error).code?.endsWith('MODULE_NOT_FOUND')))
          throw error
        const instead = `AWS has it, and this project does not: npm install --save-dev ${specifier}`
        throw notFound(specifier, context.parentURL, instead, isRequired)
      }
    }
    const found = next(specifier, context)
    if (found.url.startsWith(bundle) || !found.url.startsWith('file:')) return found
    throw notFound(
      specifier,
      context.parentURL,
      'it is not in the bundle, so AWS would not have it either',
      isRequired,
    )
  },
})

/** @param {string} specifier @param {string} parentUrl @param {string} why @param {boolean} isRequired */
function notFound(specifier, parentUrl, why, isRequired) {
  const file = fileURLToPath(parentUrl).slice(taskRoot.length + 1)
  return Object.assign(new Error(`Cannot find '${specifier}' for ${file}: ${why}`), {
    code: isRequired ? 'MODULE_NOT_FOUND' : 'ERR_MODULE_NOT_FOUND',
  })
}

/** @returns {Promise<Handler>} */
async function load() {
  const handler = process.env._HANDLER ?? ''
  const dot = handler.lastIndexOf('.')
  const path = join(process.env.LAMBDA_TASK_ROOT ?? '', handler.slice(0, dot))
  const file = ['.mjs', '.js', '.cjs'].map((ending) => path + ending).find(existsSync)
  if (!file) throw named('Runtime.ImportModuleError', `Cannot find module '${handler}'`)
  const exported = await import(pathToFileURL(file).href)
  const name = handler.slice(dot + 1)
  const found = exported[name] ?? exported.default?.[name]
  if (typeof found === 'function') return found
  throw named('Runtime.HandlerNotFound', `${handler} is undefined or not a function`)
}

/** @param {Handler} handler @param {Invocation} invocation @returns {Promise<Report>} */
async function invoke(handler, invocation) {
  process.env._X_AMZN_TRACE_ID = invocation.traceId
  try {
    const result = await handler(JSON.parse(invocation.event), contextOf(invocation))
    return { kind: 'answered', payload: toPayload(result) }
  } catch (error) {
    const payload = JSON.stringify(describe(error))
    process.stderr.write(`Invoke Error ${payload}\n`)
    return { kind: 'failed', payload }
  }
}

/** @param {unknown} result */
function toPayload(result) {
  let payload
  try {
    payload = JSON.stringify(result) ?? 'null'
  } catch {
    throw named('Runtime.MarshalError', 'Unable to stringify response body')
  }
  const bytes = Buffer.byteLength(payload)
  if (bytes <= ANSWER_BYTES_MAX) return payload
  throw named(
    'Function.ResponseSizeTooLarge',
    `Response payload size exceeded maximum allowed payload size (${ANSWER_BYTES_MAX} bytes).`,
  )
}

/** When the stack ends us. A consumer's run that sees its time run out finishes its batch and takes no other. */
let endsAtMs = Number.POSITIVE_INFINITY

/** @param {Invocation} invocation */
function contextOf({ requestId, arn, deadlineMs }) {
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionVersion: '$LATEST',
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: process.env.AWS_LAMBDA_LOG_STREAM_NAME,
    clientContext: undefined,
    identity: undefined,
    invokedFunctionArn: arn,
    awsRequestId: requestId,
    getRemainingTimeInMillis: () => Math.max(0, Math.min(deadlineMs, endsAtMs) - Date.now()),
  }
}

/** @param {unknown} error */
function describe(error) {
  if (!(error instanceof Error)) {
    return { errorType: typeof error, errorMessage: String(error), trace: [] }
  }
  return {
    errorType: error.name,
    errorMessage: error.message,
    trace: (error.stack ?? '').split('\n').slice(0, 20),
  }
}

/** @param {string} name @param {string} message */
function named(name, message) {
  return Object.assign(new Error(message), { name })
}

try {
  const handler = await load()
  process.on('message', async (message) => {
    const told = /** @type {Invocation | Ending} */ (message)
    if ('endsAtMs' in told) endsAtMs = told.endsAtMs
    else report(await invoke(handler, told))
  })
  report({ kind: 'ready' })
} catch (error) {
  // The parent writes it: not again and again while it stays the same.
  report({ kind: 'broken', payload: JSON.stringify(describe(error)) })
}
