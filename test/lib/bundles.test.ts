import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createRequestHandler } from '../../aws/connections.ts'
import { bundle, writeBundle } from '../../lib/bundling/bundle.ts'
import { entriesOf } from '../../lib/bundling/bundled-code.ts'
import { defaultProvider } from '../../lib/bundling/env-credentials.ts'
import { explainStack } from '../../lib/bundling/explain-stack.ts'
import { DynamoDBDocumentClient } from '../../lib/bundling/own-commands.ts'
import { NodeHttpHandler } from '../../lib/bundling/own-request-handler.ts'
import { handlerFiles, handlerGroups } from '../../lib/constructs/function-settings.ts'
import { type StorageAccess, storageAccess } from '../../lib/constructs/storage.ts'
import { keptEnvironment } from '../support/environment.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const root = join(import.meta.dirname, '../..')
const KB = 1_024
const bundles = bundle(entriesOf(handlerFiles))
const all = handlerGroups.flatMap((files) => [...bundle(entriesOf(files))])
const fileOf: Readonly<Record<string, string>> = Object.assign({}, ...handlerGroups)
/** Only what has rights on objects; EventBridge's client is not DynamoDB's. */
const accesses: Readonly<Record<string, StorageAccess | undefined>> = storageAccess
const objectsOf = (name: string) => accesses[name.replace('PushInbox', 'Push')]?.objects
const textOf = (contents: Uint8Array | undefined): string => Buffer.from(contents ?? []).toString()

describe('A bundle', () => {
  it.each(all)('of %s is within its bar of what is loaded at a cold start.', (name, made) => {
    const touchesS3 = objectsOf(name) !== undefined
    const barKb = touchesS3 ? 254 : 180
    expect(made.bytesAtStart / KB).toBeLessThanOrEqual(barKb)
  })

  it.each(all)('of %s loads S3 when it is first needed, if ever.', (name, made) => {
    const touchesS3 = objectsOf(name) !== undefined
    expect(made.files.has('client-s3.mjs')).toBe(touchesS3)
    expect([...made.inputsAtStart.keys()].filter((path) => path.includes('client-s3'))).toEqual([])
    if (touchesS3) expect(made.bytesLazy / KB).toBeGreaterThan(200)
  })

  it.each(all)('of %s has the client of EventBridge only if it puts events.', (name, made) => {
    const clients = [...made.inputs].filter((path) => path.includes('client-eventbridge'))
    expect(clients.length > 0).toBe(name === 'Announce')
  })

  it.each(all)('of %s loads SQS when it is first needed, if it has an inbox.', (name, made) => {
    const hasInbox = name === 'PushInbox' || name === 'ApplyInbox'
    expect(made.files.has('client-sqs.mjs')).toBe(hasInbox)
    expect([...made.inputsAtStart.keys()].filter((path) => path.includes('client-sqs'))).toEqual([])
    const ofInbox = [...made.inputs].filter((path) => path.startsWith('lambdas/inbox/'))
    expect(ofInbox.length > 0).toBe(hasInbox)
  })

  it.each(all)('of %s has nothing of the SDK’s client for DynamoDB.', (_, { inputs }) => {
    const ofSdk = [...inputs].filter((path) => /\/(client|lib|util)-dynamodb\//.test(path))
    expect(ofSdk).toEqual([])
  })

  it.each(all)('of %s has of the rate limiter what it uses.', (name, made) => {
    const inputs = [...made.inputs]
    const queues = inputs.some((path) => path.startsWith('engine/verbs/'))
    // Queues have limits of their own: they decide, and know no keys, patterns or tickets.
    const decides = inputs.includes('rate/decide.ts')
    expect(decides).toBe(queues || name === 'Rate')
    const keys = inputs.filter((path) => /^rate\/(tickets|secrets|configure)\.ts$/.test(path))
    expect(keys.length > 0).toBe(name === 'Rate')
    if (name === 'Rate') expect(queues).toBe(false)
  })

  it.each(all)('of %s has no chain of credentials, and no node:http at the start.', (_, made) => {
    const inputs = [...made.inputsAtStart.keys()]
    expect(
      inputs.filter((path) => /credential-provider|client-(sso|sts)|nested-clients/.test(path)),
    ).toEqual([])
    for (const contents of made.files.values()) {
      // It loads worker threads and undici: 16 ms. An `import()` of it is for plain http, locally.
      expect(textOf(contents)).not.toMatch(/(\bfrom|\bimport)\s*"(node:)?http"/)
    }
  })

  it.each(all)('of %s has our request handler, if any, and not the SDK’s.', (name, made) => {
    const inputs = [...made.inputs]
    expect(inputs.filter((path) => path.includes('node-http-handler'))).toEqual([])
    expect(inputs.includes('aws/connections.ts')).toBe(name !== 'Health')
  })

  it.each(all)('of %s holds its own handler and not another’s.', (name, made) => {
    const inputs = [...made.inputsAtStart.keys()]
    const handlers = inputs.filter((path) => path.startsWith('lambdas/handlers/'))
    expect(handlers).toEqual([`lambdas/handlers/${fileOf[name]}`])
    expect(textOf(made.files.get('index.mjs'))).toMatch(/export\s*\{[^}]*\bas handler\b/)
  })

  it.each(all)('of %s names no path of the machine that made it.', (_, { files }) => {
    for (const contents of files.values()) expect(textOf(contents).includes(root)).toBe(false)
  })

  it('of a handler that is not there is refused by name.', () => {
    const missing = join(root, 'lambdas/handlers/pust.ts')
    expect(() => bundle({ Push: missing })).toThrow(
      'Cannot bundle lambdas/handlers/pust.ts because there is no such file',
    )
  })

  it.each(all)('of %s can be loaded by a fresh Node, and exports a handler.', (name, made) => {
    const folder = join(temporaryFolder(), name)
    writeBundle(made, folder)
    const script = `import('./index.mjs').then(({ handler }) => console.log(typeof handler))`
    // As a module: other programs of `-e` have a `require`, which Lambda does not give a module.
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: folder,
      encoding: 'utf8',
      env: {
        AWS_REGION: 'eu-central-1',
        PUSHPOP_TABLE: 'table',
        PUSHPOP_BUCKET: 'bucket',
        PUSHPOP_EVENT_BUS: 'bus',
        PUSHPOP_INBOX: 'inbox',
        PUSHPOP_INBOX_FAILURES: 'failures',
      },
    })
    expect([stdout, stderr]).toEqual(['function\n', ''])
  })
})

it('The stand-in for the SDK’s commands refuses a client of the SDK.', () => {
  expect(() => DynamoDBDocumentClient.from()).toThrow('Cannot use a client of the SDK')
})

it('The stand-in for the SDK’s request handler accepts ours, and makes none itself.', () => {
  const ours = createRequestHandler()
  expect(NodeHttpHandler.create(ours)).toBe(ours)
  expect(() => NodeHttpHandler.create({ requestTimeout: 1_000 })).toThrow('no request handler')
})

describe('Credentials', () => {
  const putBack = keptEnvironment()
  afterEach(() => {
    putBack()
  })

  it('are those of the environment, with a session token if there is one.', async () => {
    process.env.AWS_ACCESS_KEY_ID = 'key'
    process.env.AWS_SECRET_ACCESS_KEY = 'secret'
    delete process.env.AWS_SESSION_TOKEN
    const found = { accessKeyId: 'key', secretAccessKey: 'secret' }
    expect(await defaultProvider()()).toEqual(found)
    process.env.AWS_SESSION_TOKEN = 'token'
    expect(await defaultProvider()()).toEqual({ ...found, sessionToken: 'token' })
  })

  it('that are missing are named.', async () => {
    delete process.env.AWS_ACCESS_KEY_ID
    await expect(defaultProvider()()).rejects.toThrow('because AWS_ACCESS_KEY_ID and')
  })
})

describe('A stack from a log', () => {
  it('is explained by the files and lines of the sources.', () => {
    const words = 'A queue id must be'
    const [name, contents] = [...(bundles.get('Push')?.files ?? [])].find(([, contents]) =>
      textOf(contents).includes(words),
    ) as [string, Uint8Array]
    const before = textOf(contents).split(words)[0] as string
    const line = before.split('\n').length
    const column = before.length - before.lastIndexOf('\n')
    const stack = `Error: no\n    at q (file:///var/task/${name}:${line}:${column})\n    at node:fs:1:2`

    const source = readFileSync(join(root, 'shared/errors.ts'), 'utf8')
    const sourceLine = source.slice(0, source.indexOf(words)).split('\n').length
    expect(explainStack(stack, 'Push')).toMatch(
      new RegExp(
        `^Error: no\n    at q \\(shared/errors.ts:${sourceLine}:\\d+\\)\n    at node:fs:1:2$`,
      ),
    )
  })

  it('is left as it is if it is not of the bundle.', () => {
    const stack = 'at x (file:///var/task/chunk-NOTTHERE.mjs:1:2)\n at y (/opt/other.mjs:3:4)'
    expect(explainStack(stack, 'Push')).toBe(stack)
  })
})
