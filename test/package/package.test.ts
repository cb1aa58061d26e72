import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, posix } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as client from '../../client/index.ts'
import dynoxideFolder from '../../dynoxide/package.json' with { type: 'json' }
import {
  DYNOXIDE_VERSION,
  dynoxidePackages,
  dynoxideToInstall,
} from '../../local/stores/dynoxide-binary.ts'
import packageJson from '../../package.json' with { type: 'json' }
import clientJson from '../../packages/client/package.json' with { type: 'json' }
import { startQueues, type TestQueues } from '../../testing/index.ts'
import { clearOfMidnight } from '../support/midnight.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import {
  alwaysPacked,
  dependencies,
  dynoxide,
  listPacked,
  makeProject,
  mustRun,
  type Packed,
  type Project,
  packInto,
  peers,
  root,
  run,
} from './a-project.ts'

const KB = 1_024

let folder: string
let packed: Packed
let packedClient: Packed
/** With what comes along; and with all that is asked for but esbuild, which a test adds. */
let plain: Project
let full: Project

beforeAll(async () => {
  folder = temporaryFolder('packed')
  const both = await packInto(folder)
  packed = both.pushpop
  packedClient = both.client
  const tarball = join(folder, packed.filename)
  plain = await makeProject(tarball, [...dependencies, '@types/node'])
  const beside = [...peers, ...dynoxide].filter((name) => name !== 'esbuild')
  full = await makeProject(tarball, [...dependencies, '@types/node', ...beside])
})
afterAll(() => {
  for (const path of [folder, plain?.folder, full?.folder]) {
    if (path !== undefined) rmSync(path, { recursive: true, force: true })
  }
})

const pages = ['CHANGELOG.md', 'CONTRIBUTING.md', ...alwaysPacked]
const besideFolders = (paths: readonly string[]): string[] =>
  paths.filter((path) => !/^(dist|docs|examples)\//.test(path)).sort()

/** Links of pages, and of READMEs, that lead to no file of the archive; `test/docs` looks at their anchors. */
function deadLinksIn({ files }: Packed, from: string): readonly string[] {
  const paths = files.map(({ path }) => path)
  return paths
    .filter((path) => path.endsWith('.md'))
    .flatMap((page) =>
      [...readFileSync(join(from, page), 'utf8').matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/g)]
        .map(([, link = '']) => posix.join(posix.dirname(page), link))
        .filter((target) => !paths.includes(target))
        .map((target) => `${page} links to ${target}`),
    )
}

describe('The package', () => {
  it('holds what was built, and nothing of this workplace.', async () => {
    const paths = packed.files.map(({ path }) => path)
    expect(besideFolders(paths)).toEqual(pages)
    const folders = new Set(paths.flatMap((path) => /^dist\/([^/]+)\//.exec(path)?.[1] ?? []))
    expect([...folders].sort()).toEqual([
      'aws',
      'bin',
      'cjs',
      'cli',
      'client',
      'engine',
      'examples',
      'functions',
      'lambdas',
      'lib',
      'local',
      'rate',
      'shared',
      'testing',
    ])
    const notExamples = paths.filter((path) => !/^(dist\/)?examples\//.test(path))
    const strange = /(?<!\.d)\.ts$|\.map$|\.tgz$|\btest\b/
    expect(notExamples.filter((path) => strange.test(path))).toEqual([])
    const [main] = packed.files.filter(({ path }) => path === packageJson.bin.pushpop)
    expect((main?.mode ?? 0) & 0o111).toBe(0o111)
  })

  it('is made by `npm pack` in this repository of what was built there, and of nothing else.', async () => {
    expect(packageJson.scripts.prepack).toContain('scripts/build-package.ts')
    const { files } = await listPacked()
    expect(besideFolders(files.map(({ path }) => path))).toEqual(pages)
  })

  it('holds examples that run in a copy, without a change.', async () => {
    const from = join(full.folder, 'node_modules/pushpop/dist/examples')
    const names = readdirSync(from)
    expect(names).toEqual(readdirSync(join(root, 'examples')))
    for (const name of names) cpSync(join(from, name), join(full.folder, name), { recursive: true })
    const imports = names.flatMap((name) =>
      globSync('*.ts', { cwd: join(from, name) }).map((file) => `import './${name}/${file}'`),
    )
    const options = '--module nodenext --allowImportingTsExtensions --skipLibCheck --types node'
    expect(await full.check([imports.join('\n')], options.split(' '))).toBe('')
    const said = await mustRun(process.execPath, ['outbox/main.ts'], { cwd: full.folder })
    expect(said).toContain('9 mails for 9 orders.')
  })

  it('has no page with a link to a file that it does not hold, nor has that of the client.', () => {
    expect(deadLinksIn(packed, root)).toEqual([])
    expect(deadLinksIn(packedClient, join(root, 'packages/client'))).toEqual([])
  })

  it('is small.', () => {
    expect(packed.size / KB).toBeLessThan(1_675)
    expect(packed.unpackedSize / KB).toBeLessThan(6_550)
  })

  it('is smaller still for the client alone, which is one package and needs no other.', () => {
    expect(packedClient.unpackedSize / KB).toBeLessThan(200)
    expect(clientJson).not.toHaveProperty('dependencies')
    expect(clientJson).not.toHaveProperty('peerDependencies')
    expect(clientJson.version).toBe(packageJson.version)
  })

  it('imports nothing that does not come with it or is asked for.', () => {
    const dist = join(plain.folder, 'node_modules/pushpop/dist')
    const imported = globSync('**/*.js', { cwd: dist }).flatMap((path) =>
      importsOf(readFileSync(join(dist, path), 'utf8')),
    )
    const known = new Set([...dependencies, ...peers])
    expect([...new Set(imported)].filter((name) => !known.has(name))).toEqual([])
    // And what it asks for is needed.
    expect(dependencies.filter((name) => !imported.includes(name))).toEqual([])
  })

  it('brings the AWS SDK and a calendar with it, and nothing else: no binary, and no peer that is not optional.', () => {
    const file = join(plain.folder, 'node_modules/pushpop/package.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8'))
    const { dependencies, peerDependencies, peerDependenciesMeta } = manifest
    const others = Object.keys(dependencies).filter((name) => !name.startsWith('@aws-sdk/'))
    expect(others).toEqual(['croner'])
    expect(manifest).not.toHaveProperty('optionalDependencies')
    expect(manifest).not.toHaveProperty('bundleDependencies')
    // npm runs no script of it on a user's machine.
    for (const name of ['preinstall', 'install', 'postinstall'])
      expect(manifest.scripts).not.toHaveProperty(name)
    const needed = Object.keys(peerDependencies).filter(
      (name) => !peerDependenciesMeta[name]?.optional,
    )
    expect(needed).toEqual([])
  })

  it('asks for the binary that this repository installs.', () => {
    expect(dynoxideFolder.optionalDependencies).toEqual(
      Object.fromEntries(dynoxidePackages.map((name) => [name, DYNOXIDE_VERSION])),
    )
  })

  it('names those whose work is in its functions, and their terms.', () => {
    const file = join(plain.folder, 'node_modules/pushpop/dist/functions/LICENCES.txt')
    const text = readFileSync(file, 'utf8')
    for (const name of [
      '@aws-sdk/client-eventbridge',
      '@aws-sdk/client-s3',
      '@middy/core',
      'valibot',
    ])
      expect(text).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\((MIT|Apache-2\\.0)\\)$`, 'm'))
  })
})

/** Packages, of whatever path in them. */
const importsOf = (code: string): string[] =>
  [
    ...code.matchAll(
      /^(?:(?:import|export|\}).* from |import )'((?!\.)[^']+)';$|\bimport\('((?!\.)[^']+)'\)/gm,
    ),
  ]
    .map(([, first, second]) => first ?? second ?? '')
    .filter((name) => !name.startsWith('node:'))
    .map((name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/'))

const useConstruct = `
  import { App, Duration, Stack } from 'aws-cdk-lib'
  import { AccountPrincipal, Role } from 'aws-cdk-lib/aws-iam'
  import { PushPop, PushPopConsumer, type PushPopProps, PushPopStack, Storage } from 'pushpop'

  const props: PushPopProps = { sweepEvery: Duration.seconds(10), authorisation: { kind: 'iam' } }
  const stack = new Stack(new App(), 'Shop')
  const queues = new PushPop(stack, 'Queues', props)
  const worker = new Role(stack, 'Worker', { assumedBy: new AccountPrincipal('123456789012') })
  queues.grantPop(worker, ['orders'])
  queues.storage.grantPush(worker)
  export const names: string[] = [queues.url, new Storage(stack, 'Own', { throwaway: true }).table.tableName]
  export const places: (string | undefined)[] = [queues.storage.bucket.bucketName, queues.inbox?.queue.queueUrl, queues.events?.bus.eventBusName]
  new PushPopConsumer(stack, 'Ship', { service: queues, queues: 'orders', function: 'src/ship.ts' })
  new PushPopStack(new App(), 'Queues', { service: props })
  // @ts-expect-error
  new PushPop(stack, 'Others', { sweepEvery: 10 })
`
const useClient = `
  import { createClient, isPushPopError, rawJson, type Item, type RateDecision } from 'pushpop/client'

  const client = createClient({ url: 'http://localhost:8000', auth: { kind: 'token', token: 'x' } })
  const orders = client.queue<{ order: number }>('orders')
  export async function work(): Promise<Item<{ order: number }> | undefined> {
    await orders.push({ order: 17 }, { priority: 5 })
    await client.queue('names').push(rawJson('1.10'))
    const decision: RateDecision = await client.rate('partner').decide({ canWait: true })
    if (decision.kind === 'promised') await client.rate('partner').giveUp(decision.ticket)
    try {
      const { items } = await orders.pop({ requireAck: true })
      return items[0]
    } catch (error) {
      if (isPushPopError(error, 'QUEUE_LOCKED')) return undefined
      throw error
    }
  }
  // @ts-expect-error
  orders.push({ order: 'seventeen' })
`
const useEngine = `
  import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
  import {
    createQueues, createRequestHandler, type PopOutcome, QueueError, type Queues, tableDefinition,
  } from 'pushpop/engine'

  export const queues: Queues = createQueues({
    tableName: 'pushpop',
    bucketName: 'segments',
    dynamodb: new DynamoDBClient({ requestHandler: createRequestHandler() }),
    async s3() {
      const { S3Client } = await import('@aws-sdk/client-s3')
      return new S3Client({ requestHandler: createRequestHandler({ answerTimeoutMs: 10_000 }) })
    },
  })
  export async function work(): Promise<PopOutcome> {
    await queues.push('orders', { items: [{ text: '{"order":17}', priority: 5 }] })
    return queues.pop('orders', { requireAck: true })
  }
  export const isBusy = (error: unknown) => error instanceof QueueError && error.code === 'BUSY'
  export const indexes: readonly string[] = tableDefinition.indexes.map(({ name }) => name)
  // @ts-expect-error
  queues.push('orders', { items: [{ text: 17 }] })
`
const useRateLimits = `
  import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
  import { type Admission, createRateLimits, QueueError, type RateLimits, type SettingsInput } from 'pushpop/rate-limits'

  const limits: RateLimits = createRateLimits({ tableName: 'pushpop', dynamodb: new DynamoDBClient() })
  const settings: SettingsInput = { maxRequests: 5, algorithm: 'smooth' }
  export async function work(): Promise<number> {
    await limits.configure('user-17', settings)
    const answer: Admission = await limits.admit('user-17', { canWait: true, maxWaitMs: 5_000 })
    switch (answer.kind) {
      case 'allowed': return answer.waitedMs
      case 'denied': return answer.retryAfterMs
      case 'promised': return answer.turn.notBeforeMs
      case 'override-refused': throw new Error(answer.field)
    }
  }
  export const isBusy = (error: unknown) => error instanceof QueueError && error.code === 'BUSY'
  // @ts-expect-error
  limits.configure('user-17', { algorithm: 'rough' })
`
const useConsumer = `
  import { consumer, type Item } from 'pushpop/consumer'

  const isWrong = ({ value }: Item<{ order: number }>): boolean => value.order < 0
  export const handler = consumer<{ order: number }>(
    async (items, { deadLetter }) => {
      for (const item of items) if (isWrong(item)) deadLetter(item, 'a negative order')
    },
    { batchSize: 10 },
  )
  // @ts-expect-error
  consumer(async () => 17)
`
const useTesting = `
  import { consumer } from 'pushpop/consumer'
  import {
    type FakeContext, fakeContext, type LocalStack, startLocalStack, startQueues, type TestQueues,
  } from 'pushpop/testing'

  const handler = consumer<number>(async () => {})
  const context: FakeContext = fakeContext({ timeoutSeconds: 10 })
  export const left: number = context.getRemainingTimeInMillis()

  export async function work(): Promise<number> {
    const store: TestQueues = await startQueues({ name: 'shop', remindAfterSeconds: 60 })
    Object.assign(process.env, store.environment)
    const queue = store.newQueue()
    await store.queues.push(queue, { items: [{ text: '17' }] })
    const { acknowledged } = await store.wake(queue, handler)
    const { itemsReturned }: { itemsReturned: number } = await store.moveTime(acknowledged)
    await handler({ detail: { queue } }, fakeContext({ clock: store.clock }))
    const stack: LocalStack = await startLocalStack({ port: 0, app: 'app.ts' })
    await fetch(stack.url + '/healthz')
    await Promise.all([store.stop(), stack.stop()])
    return itemsReturned + (await store.queues.inspect(queue)).count
  }
  // @ts-expect-error
  startQueues({ tableName: 'shop' })
`

describe('The types', () => {
  const node = ['--types', 'node', '--lib', 'es2022']
  const nodenext = [...node, '--module', 'nodenext']
  const bundler = [...node, '--module', 'esnext', '--moduleResolution', 'bundler']
  const exact = ['--exactOptionalPropertyTypes', '--skipLibCheck']
  const withoutCdk = [useClient, useEngine, useRateLimits, useConsumer, useTesting]
  const all = [useConstruct, ...withoutCdk]

  it('of all entries hold, and those of what they are made of, for Node.', async () => {
    expect(await full.check(all, [...nodenext, '--skipLibCheck', 'false'])).toBe('')
  })

  it('hold for a bundler, and where an optional property may not be undefined.', async () => {
    expect(await full.check(all, [...bundler, ...exact])).toBe('')
  })

  it('of the others hold if there is no CDK.', async () => {
    expect(await plain.check(withoutCdk, [...nodenext, '--skipLibCheck', 'false'])).toBe('')
  })

  it('of the client hold in a browser, without those of Node.', async () => {
    const browser = ['--types', '', '--lib', 'es2022,dom', '--module', 'esnext']
    const options = [...browser, '--moduleResolution', 'bundler', '--skipLibCheck', 'false']
    expect(await plain.check([useClient], options)).toBe('')
  })
})

describe('An entry', () => {
  const entries = {
    pushpop: ['PushPop', 'PushPopConsumer', 'PushPopStack', 'Storage'],
    'pushpop/client': ['PushPopError', 'createClient', 'isPushPopError', 'rawJson'],
    'pushpop/engine': ['QueueError', 'createQueues', 'tableDefinition'],
    'pushpop/rate-limits': ['QueueError', 'createRateLimits', 'tableDefinition'],
    'pushpop/consumer': ['consumer'],
    'pushpop/testing': ['connectEmbedded', 'startEmbedded', 'startLocalStack', 'startQueues'],
  }

  it('is all there is.', () => {
    const paths = Object.keys(packageJson.exports).filter((path) => path !== './package.json')
    expect(paths.map((path) => path.replace('.', 'pushpop'))).toEqual(Object.keys(entries))
  })

  it.each(Object.entries(entries))('%s is imported by a plain Node.', async (entry, names) => {
    const project = entry === 'pushpop' ? full : plain
    const found = await project.script(`
      import * as entry from '${entry}'
      console.log(JSON.stringify(Object.keys(entry)))`)
    expect(JSON.parse(found)).toEqual(expect.arrayContaining(names))
  })

  it.each(Object.entries(entries))(
    '%s is required by CommonJS too, on a Node that requires no ES module.',
    async (entry, names) => {
      const project = entry === 'pushpop' ? full : plain
      const found = await project.commonJs(`
        console.log(JSON.stringify(Object.keys(require('${entry}'))))`)
      expect(JSON.parse(found)).toEqual(expect.arrayContaining(names))
    },
  )

  it('has types for TypeScript that resolves as Node 10 did.', () => {
    const { typesVersions, exports } = packageJson
    const types = Object.entries(exports).flatMap(([path, entry]) =>
      typeof entry === 'object' ? [[path.slice(2), [entry.require.types]] as const] : [],
    )
    expect(packageJson.types).toBe(exports['.'].require.types)
    expect(typesVersions['*']).toEqual(Object.fromEntries(types.filter(([path]) => path !== '')))
  })
})

describe('The client’s own package', () => {
  it.each(['import', 'require'] as const)(
    'is loaded by %s, with nothing beside it.',
    async (by) => {
      const alone = await makeProject(join(folder, packedClient.filename), [], 'pushpop-client')
      const found =
        by === 'import'
          ? await alone.script(`
            import * as entry from 'pushpop-client'
            console.log(Object.keys(entry).sort().join(' '))`)
          : await alone.commonJs(
              `console.log(Object.keys(require('pushpop-client')).sort().join(' '))`,
            )
      expect(found.trim().split(' ')).toEqual(Object.keys(client).sort())
    },
  )
})

describe('The construct', () => {
  const code = (imported: string, outdir: string) => `
    import { App, Stack } from 'aws-cdk-lib'
    import { PushPop } from '${imported}'
    const app = new App({ outdir: ${JSON.stringify(outdir)}, builtinCloudFormationValidation: false })
    new PushPop(new Stack(app, 'Shop'), 'Queues')
    app.synth()`
  let made: Promise<string> | undefined
  /** Where the app is synthesised, once. */
  const synthesised = async () => {
    const outdir = join(full.folder, 'cdk.out')
    made ??= full.script(code('pushpop', outdir))
    await made
    return outdir
  }

  it('deploys the functions that this repository deploys, without esbuild.', async () => {
    const here = join(folder, 'here')
    const inRepository = ['--input-type=module', '-e', code(join(root, 'lib/index.ts'), here)]
    const [there] = await Promise.all([
      synthesised(),
      mustRun(process.execPath, inRepository, { cwd: root }),
    ])
    const template = (outdir: string) => readFileSync(join(outdir, 'Shop.template.json'), 'utf8')
    // Whose assets are named by their hashes: the same template is the same code.
    expect(template(there)).toBe(template(here))
    expect(assetsOf(there).length).toBeGreaterThanOrEqual(8)
    expect(assetsOf(there)).toEqual(assetsOf(here))
  })

  it('brings functions that start and answer.', async () => {
    const outdir = await synthesised()
    const event = readFileSync(join(root, 'events/health.json'), 'utf8')
    const said = await full.script(
      `
      const load = (asset) => import(${JSON.stringify(outdir)} + '/' + asset + '/index.mjs')
      for (const asset of ${JSON.stringify(assetsOf(outdir))}) {
        const { handler } = await load(asset)
        if (typeof handler !== 'function') console.log(asset, typeof handler)
      }
      const { handler } = await load('asset.${assetOfHealth(outdir)}')
      const { statusCode, body } = await handler(${event}, {})
      console.log(statusCode, body)`,
      {
        AWS_REGION: 'eu-central-1',
        PUSHPOP_TABLE: 'table',
        PUSHPOP_BUCKET: 'bucket',
        PUSHPOP_EVENT_BUS: 'bus',
        PUSHPOP_LOG_LEVEL: 'error',
      },
    )
    expect(said.trim().split('\n').at(-1)).toBe('200 {"status":"ok"}')
    expect(said).not.toContain('undefined')
  })
})

const SHIP = `
  import { consumer } from 'pushpop/consumer'
  export const handler = consumer<number>((items) => console.log('ships', items.length))
`

describe('A consumer', () => {
  const app = `
    import { App, Stack } from 'aws-cdk-lib'
    import { PushPop, PushPopConsumer } from 'pushpop'
    const app = new App({ outdir: 'cdk.out-consumer', builtinCloudFormationValidation: false })
    const stack = new Stack(app, 'Shop')
    const service = new PushPop(stack, 'Queues')
    new PushPopConsumer(stack, 'Ship', { service, queues: 'orders', function: 'ship.ts' })
    app.synth()`

  it('is bundled from a file of the app with an esbuild of the app, which is asked for.', async () => {
    writeFileSync(join(full.folder, 'ship.ts'), SHIP)
    await expect(full.script(app)).rejects.toThrow(
      'Cannot bundle a function because esbuild is not installed: npm install --save-dev esbuild',
    )
    full.add('esbuild')
    await full.script(app)
    const outdir = join(full.folder, 'cdk.out-consumer')
    const [file] = globSync('asset.*/index.mjs', { cwd: outdir }).filter((path) =>
      readFileSync(join(outdir, path), 'utf8').includes('"ships"'),
    )
    const found = await full.script(`
      const { handler } = await import('./cdk.out-consumer/${file}')
      console.log(await handler({ detail: {} }).catch(({ message }) => message))`)
    expect(found).toContain('the event names no queue')
  })

  it('goes without drivers that a package beside us can do without, and is refused with native code.', async () => {
    const beside = (name: string, manifest: object, code: string) => {
      const folder = join(full.folder, 'node_modules', name)
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, ...manifest }))
      writeFileSync(join(folder, 'index.js'), code)
    }
    const shipWith = (name: string) =>
      writeFileSync(join(full.folder, 'ship.ts'), `import '${name}'\n${SHIP}`)
    if (!existsSync(join(full.folder, 'node_modules/esbuild'))) full.add('esbuild')
    beside('has-drivers', {}, `exports.connect = () => require('a-driver')`)
    shipWith('has-drivers')
    await full.script(app)
    const platforms = { 'is-native-linux-x64': '1', 'is-native-darwin-arm64': '1' }
    beside('is-native', { optionalDependencies: platforms }, 'console.log(1)')
    shipWith('is-native')
    await expect(full.script(app)).rejects.toThrow('"is-native" has native code')
  })
})

/** Folders of functions in a cloud assembly. */
const assetsOf = (outdir: string): string[] =>
  globSync('asset.*/index.mjs', { cwd: outdir })
    .map((path) => path.split('/')[0] as string)
    .sort()

function assetOfHealth(outdir: string): string {
  const template = JSON.parse(readFileSync(join(outdir, 'Shop.template.json'), 'utf8'))
  const [key] = Object.values<{ Properties?: { Description?: string; Code?: { S3Key: string } } }>(
    template.Resources,
  ).flatMap(({ Properties: { Description = '', Code } = {} }) =>
    Code !== undefined && Description.includes('GET /healthz') ? [Code.S3Key] : [],
  )
  return (key ?? '').replace('.zip', '')
}

describe('The engine', () => {
  let store: TestQueues
  beforeAll(async () => {
    store = await startQueues({ name: 'package' })
  })
  afterAll(() => store?.stop())

  it('works on a table and bucket of one’s own.', async () => {
    const said = await plain.script(
      `
      import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
      import { S3Client } from '@aws-sdk/client-s3'
      import { createQueues, createRequestHandler } from 'pushpop/engine'
      const queues = createQueues({
        tableName: 'package',
        bucketName: 'package',
        dynamodb: new DynamoDBClient({ requestHandler: createRequestHandler() }),
        s3: new S3Client({ forcePathStyle: true, requestHandler: createRequestHandler() }),
      })
      const large = JSON.stringify('x'.repeat(200_000))
      await queues.push('orders', { items: [{ text: '17', priority: 5 }, { text: large, priority: 0 }] })
      const { items } = await queues.pop('orders', { count: 2 })
      console.log(items[0].text === large, items[1].text)`,
      store.environment,
    )
    expect(said).toBe('true 17\n')
  })

  it('limits rates on a table alone.', async () => {
    await clearOfMidnight()
    const said = await plain.script(
      `
      import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
      import { createRateLimits } from 'pushpop/rate-limits'
      const limits = createRateLimits({ tableName: 'package', dynamodb: new DynamoDBClient() })
      await limits.configure('partner', { maxRequests: 1, windowMillis: 86_400_000 })
      const kinds = []
      for (const canWait of [false, false, true]) {
        const { kind, ticket } = await limits.admit('partner', { canWait })
        kinds.push(kind)
        if (ticket !== undefined) kinds.push((await limits.verify('partner', ticket)).kind)
      }
      console.log(kinds.join(' '))`,
      store.environment,
    )
    expect(said).toBe('allowed denied promised waiting\n')
  })
})

describe('The testing entry point', () => {
  const work = `
    import { startQueues } from 'pushpop/testing'
    try {
      const { queues, newQueue, stop } = await startQueues()
      const queue = newQueue()
      await queues.push(queue, { items: [{ text: '17' }] })
      console.log((await queues.pop(queue, {})).items[0].text)
      await stop()
    } catch (error) {
      console.log(error.message)
    }`

  const moving = `
    process.env.PUSHPOP_LOG_LEVEL = 'error'
    const seen = []
    const handler = consumer(([item]) => void seen.push(item.value, item.deliveries))
    async function main() {
      const store = await startQueues()
      Object.assign(process.env, store.environment)
      const queue = store.newQueue()
      await store.queues.push(queue, { items: [{ text: '17' }] })
      await store.queues.pop(queue, { requireAck: true })
      const runs = [(await store.wake(queue, handler)).ended]
      const { itemsReturned } = await store.moveTime(31_000)
      runs.push((await store.wake(queue, handler)).ended)
      process.stdout.write('\\n' + [...runs, itemsReturned, ...seen].join(' '))
      await store.stop()
    }
    main()`

  it('runs a consumer in a time that the test moves, in ES modules and in CommonJS.', async () => {
    const esm = `
      import { consumer } from 'pushpop/consumer'
      import { startQueues } from 'pushpop/testing'`
    const cjs = `
      const { consumer } = require('pushpop/consumer')
      const { startQueues } = require('pushpop/testing')`
    for (const said of [await full.script(esm + moving), await full.commonJs(cjs + moving)]) {
      expect(said.split('\n').at(-1)).toBe('locked empty 1 17 2')
    }
  })

  it('says what to install if they are not.', async () => {
    const binary = dynoxideToInstall(process)
    const toInstall = `${binary === undefined ? 'Start DynamoDB Local' : `Run npm install --save-optional ${binary}`}`
    expect(await plain.script(work)).toContain(toInstall)
    const elsewhere = { PUSHPOP_DYNAMODB_ENDPOINT: 'http://127.0.0.1:8001' }
    expect(await plain.script(work, elsewhere)).toBe(
      'Cannot start the embedded S3 because @20minutes/s3rver is not installed: npm install --save-dev @20minutes/s3rver\n',
    )
  })
})

describe('pushpop', () => {
  it('says its version, and what it can.', async () => {
    expect(await plain.pushpop('--version')).toMatchObject({ stdout: `${packageJson.version}\n` })
    const { stdout, code } = await plain.pushpop('--help')
    expect(code).toBe(0)
    expect(stdout).toContain('pushpop help COMMAND')
    expect((await plain.pushpop('start', '--help')).stdout).toContain('  pushpop start [options]\n')
  })

  it('start says what it needs that is not there.', async () => {
    const binary = dynoxideToInstall(process)
    const installBinary = binary === undefined ? '' : `, and npm install --save-optional ${binary}`
    const needs =
      'Cannot start because the stack on one machine needs packages that are not installed: ' +
      'npm install --save-dev @20minutes/s3rver aws-cdk-lib constructs'
    const answer = (stderr: string) => ({ code: 1, stdout: '', stderr: `${stderr}\n` })
    expect(await plain.pushpop('start', '--memory')).toEqual(answer(`${needs}${installBinary}`))
    const withOther = { PUSHPOP_DYNAMODB_ENDPOINT: 'http://127.0.0.1:8001' }
    const ran = await run(join(plain.folder, 'node_modules/.bin/pushpop'), ['start', '--memory'], {
      cwd: plain.folder,
      env: withOther,
    })
    expect(ran).toEqual(answer(needs))
  })

  it('start names the binary of a platform, if there is one.', () => {
    expect(dynoxideToInstall({ platform: 'darwin', arch: 'arm64' })).toBe(
      `@dynoxide/darwin-arm64@${DYNOXIDE_VERSION}`,
    )
    expect(dynoxideToInstall({ platform: 'sunos', arch: 'sparc' })).toBeUndefined()
  })

  it('start serves the whole stack where they are, and ends when it is asked to.', async () => {
    const stack = await full.start('--memory', '--port', '0')
    const at = ['--endpoint', stack.url] as const
    expect(await plain.pushpop('push', 'orders', '{"order": 17}', ...at)).toMatchObject({ code: 0 })
    const said = await plain.script(`
      import { createClient } from 'pushpop/client'
      const orders = createClient({ url: '${stack.url}' }).queue('orders')
      await orders.push({ order: 18 }, { priority: 5 })
      const { items } = await orders.pop()
      console.log(items[0].text)`)
    expect(said).toBe('{"order": 17}\n')
    const { stdout } = await plain.pushpop('pop', 'orders', ...at)
    expect(stdout).toBe('{"order":18}\n')
    expect(await stack.stop()).toBe(0)
  })
})
