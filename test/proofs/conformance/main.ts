// The conformance suite, and the tests of the engine, on other implementations of DynamoDB, S3 and SQS than the gate's.
//
//   npm run conformance -- --dynamodb local --s3 minio --sqs elasticmq
//
// `local`, `minio` and `elasticmq` are got and started; an address is that of one you have started; `aws` is your
// account. A case that differs by an excuse is expected to fail (excuses.ts).

import { parseArgs } from 'node:util'
import { SKIPPED } from '../../../scripts/nightly.ts'
import { programOnPath } from '../../support/programs.ts'
import { type Engine, got, type Key, type Started, start } from './engines/engine.ts'
import { dynamodbLocal, elasticmq, minio } from './engines/engines.ts'
import { runSuites, type Suite } from './run-suites.ts'

const help = `npm run conformance -- [options]
  --dynamodb embedded | local | URL | aws     local is ${dynamodbLocal.name}
  --s3       embedded | minio | URL | aws     minio is ${minio.name}
  --sqs      local | elasticmq | URL | aws    local is that of the local stack, elasticmq is ${elasticmq.name}
  -- ARGS    for vitest, such as -t 'a name'

The key for a URL is AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. For DynamoDB and S3 of AWS set PUSHPOP_TABLE and
PUSHPOP_BUCKET to a table and a bucket that PushPop's stack has made: the cases leave nothing there.`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    dynamodb: { type: 'string', default: 'embedded' },
    s3: { type: 'string', default: 'embedded' },
    sqs: { type: 'string', default: 'local' },
    help: { type: 'boolean', default: false },
  },
})

type Chosen =
  | { readonly kind: 'own' }
  | { readonly kind: 'started'; readonly engine: Engine }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'aws' }

const isElsewhere = (...all: readonly Chosen[]): boolean =>
  all.some(({ kind }) => kind === 'started' || kind === 'url')

const isSqs = (file: string): boolean => file.startsWith('test/proofs/conformance/sqs/')
const isObjects = (file: string): boolean => file === 'test/proofs/conformance/objects.test.ts'
const isOther = (file: string): boolean => isSqs(file) || isObjects(file)

process.exitCode = await main()

async function main(): Promise<number> {
  if (values.help) {
    console.log(help)
    return 0
  }
  const dynamodb = chosen('dynamodb', 'embedded', { local: dynamodbLocal })
  const s3 = chosen('s3', 'embedded', { minio })
  const sqs = chosen('sqs', 'local', { elasticmq })
  const wrong = typeof dynamodb === 'string' ? dynamodb : typeof s3 === 'string' ? s3 : sqs
  if (typeof dynamodb === 'string' || typeof s3 === 'string' || typeof sqs === 'string') {
    console.error(wrong)
    return 2
  }
  const cannot = whyNot(dynamodb, s3)
  if (cannot !== undefined) {
    console.error(cannot)
    return 2
  }
  const missing = whatIsMissing([dynamodb, s3, sqs])
  if (missing !== undefined) {
    console.log(`skipped: ${missing}`)
    return SKIPPED
  }
  return prove({ dynamodb, s3, sqs })
}

function chosen(
  option: 'dynamodb' | 's3' | 'sqs',
  own: string,
  engines: Readonly<Record<string, Engine>>,
): Chosen | string {
  const value = values[option]
  if (value === own) return { kind: 'own' }
  if (value === 'aws') return { kind: 'aws' }
  const engine = engines[value]
  if (engine !== undefined) return { kind: 'started', engine }
  if (URL.canParse(value) && /^https?:/.test(value)) return { kind: 'url', url: value }
  const names = [own, ...Object.keys(engines), 'aws'].join(', ')
  return `Cannot test "${value}" because --${option} takes ${names} or an address`
}

function whyNot(dynamodb: Chosen, s3: Chosen): string | undefined {
  if ((dynamodb.kind === 'aws') !== (s3.kind === 'aws')) {
    return 'Cannot take only one of DynamoDB and S3 from AWS because both are reached by one key'
  }
  const { PUSHPOP_TABLE, PUSHPOP_BUCKET } = process.env
  if (dynamodb.kind === 'aws' && !(PUSHPOP_TABLE && PUSHPOP_BUCKET)) {
    return 'Cannot test AWS because PUSHPOP_TABLE or PUSHPOP_BUCKET is not set'
  }
  return undefined
}

function whatIsMissing(all: readonly Chosen[]): string | undefined {
  for (const one of all) {
    if (one.kind !== 'started') continue
    const program = one.engine.needs.find((name) => programOnPath(name) === undefined)
    if (program === undefined) continue
    return `cannot test ${one.engine.name} because there is no ${program}; install it (${one.engine.needs.join(', ')})`
  }
  return undefined
}

type Choice = Readonly<Record<'dynamodb' | 's3' | 'sqs', Chosen>>

async function prove({ dynamodb, s3, sqs }: Choice): Promise<number> {
  const running: Started[] = []
  const endpointOf = async (one: Chosen): Promise<string | undefined> => {
    if (one.kind === 'url') return one.url
    if (one.kind !== 'started') return undefined
    const started = await start(one.engine, got(one.engine))
    running.push(started)
    return started.endpoint
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => process.exit(1))
  }
  try {
    const endpoints = {
      PUSHPOP_DYNAMODB_ENDPOINT: await endpointOf(dynamodb),
      PUSHPOP_S3_ENDPOINT: await endpointOf(s3),
      PUSHPOP_SQS_ENDPOINT: await endpointOf(sqs),
    }
    const ownSet = Object.entries(endpoints).filter(([, endpoint]) => endpoint !== undefined)
    const names = [dynamodb, s3, sqs].flatMap((one) =>
      one.kind === 'started' ? [one.engine.name] : [],
    )
    return await runSuites(suitesOf({ dynamodb, s3, sqs }), positionals, {
      ...Object.fromEntries(ownSet),
      ...keyFor([s3, sqs]),
      PUSHPOP_CONFORMANCE_ENGINES: names.join(','),
      ...(dynamodb.kind === 'aws' && { PUSHPOP_CONFORMANCE_STORES: 'aws' }),
      ...(isElsewhere(dynamodb, s3) && { PUSHPOP_CONFORMANCE_STORES: 'elsewhere' }),
      ...(sqs.kind !== 'own' && {
        PUSHPOP_CONFORMANCE_SQS: sqs.kind === 'aws' ? 'aws' : 'elsewhere',
      }),
      // A table for each test is for a store that nobody else has.
      ...(![dynamodb, s3].some(({ kind }) => kind === 'url') && {
        PUSHPOP_SIMULATED_ELSEWHERE: '1',
      }),
    })
  } finally {
    await Promise.all(running.map((one) => one.stop()))
  }
}

function keyFor(all: readonly Chosen[]): Readonly<Record<string, string>> {
  const keys = all.flatMap((one): readonly Key[] =>
    one.kind === 'started' && one.engine.key ? [one.engine.key] : [],
  )
  const [key] = keys
  return key
    ? { AWS_ACCESS_KEY_ID: key.accessKeyId, AWS_SECRET_ACCESS_KEY: key.secretAccessKey }
    : {}
}

function suitesOf({ dynamodb, s3, sqs }: Choice): readonly Suite[] {
  const folder = 'test/proofs/conformance'
  const stores = [dynamodb, s3].filter(({ kind }) => kind !== 'own').map(nameOf)
  return [
    ...(dynamodb.kind === 'own'
      ? []
      : [
          {
            engine: nameOf(dynamodb),
            name: 'conformance',
            holds: (file: string) => file.startsWith(folder) && !isOther(file),
          },
        ]),
    ...(s3.kind === 'own'
      ? []
      : [{ engine: nameOf(s3), name: 'conformance', holds: (file: string) => isObjects(file) }]),
    ...(sqs.kind === 'own'
      ? []
      : [{ engine: nameOf(sqs), name: 'conformance', holds: (file: string) => isSqs(file) }]),
    ...(isElsewhere(dynamodb, s3)
      ? [
          {
            engine: stores.join(' and '),
            name: "the engine's tests",
            holds: (file: string) => file.startsWith('test/engine/'),
          },
        ]
      : []),
  ]
}

function nameOf(one: Chosen): string {
  switch (one.kind) {
    case 'own':
      return 'ours'
    case 'started':
      return one.engine.name
    case 'url':
      return one.url
    case 'aws':
      return 'AWS'
    default:
      return one satisfies never
  }
}
