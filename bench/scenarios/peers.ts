// PushPop compared with what people would choose instead, on this machine in one run: each peer in a separate process,
// in turns, on servers that keep their data on the same disk.

import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { type StoreEndpoints, startEmbedded } from '../../testing/embedded.ts'
import { type Bench, type Scenario, tableName } from '../bench.ts'
import { quantile } from '../load.ts'
import { type Amounts, type Measured, peerNames, type Request } from '../peers/measure.ts'
import { type Addresses, installPackages } from '../peers/peer.ts'
import { atLeast, type Row, rowsOf } from '../report.ts'
import { startStack } from './local-stack.ts'

/** The median of so many turns: one of them may meet a checkpoint or a neighbour. */
const TURNS = 3
/** A peer that hangs fails the scenario, and does not hold it. */
const PATIENCE_MS = 240_000
const MEASURE = join(import.meta.dirname, '../peers/measure.ts')

export const peers: Scenario = {
  name: 'peers',
  title: 'beside what people would pick instead',
  async run(bench) {
    const programs = findPrograms()
    if ('missing' in programs) {
      bench.progress(`skipped, because ${programs.missing} is not installed on this machine`)
      return []
    }
    installPackages()
    const turns = await measureAll(bench, programs)
    const compared = ratios(this.title, turns)
    // One short turn judges nothing.
    const told = bench.quick ? compared.map(withoutBar) : compared
    return [...told, ...figures(this.title, turns)]
  },
}

const withoutBar = ({ name, metric, value }: Row): Row => ({ name, metric, value })

type Turns = ReadonlyMap<string, readonly Measured[]>

async function measureAll(bench: Bench, programs: Programs): Promise<Turns> {
  const amounts: Amounts = {
    singly: bench.count(1000),
    bulks: bench.count(100),
    tenants: bench.count(1000),
    // Two rounds of BullMQ's workers, which ask every 5 s.
    idleSeconds: 10,
  }
  const directory = mkdtempSync(join(tmpdir(), 'pushpop-peers-stores-'))
  const servers = await startServers(programs)
  const embedded = await startEmbedded({ directory })
  const stack = await startStack()
  try {
    // The benchmark's own, in memory, has them already.
    await Promise.all([embedded.createTable(tableName), embedded.createBucket(tableName)])
    const addresses: Addresses = {
      postgres: servers.postgres,
      redis: servers.redis,
      stores: addressesOf(embedded),
      storesInMemory: addressesOf(bench.embedded),
      url: `http://localhost:${stack.port}`,
    }
    const serverPids: Readonly<Record<string, number>> = {
      'pg-boss': servers.postgres.pid,
      'graphile-worker': servers.postgres.pid,
      BullMQ: servers.redis.pid,
    }
    const measured = new Map<string, Measured[]>()
    for (let turn = 0; turn < (bench.quick ? 1 : TURNS); turn++) {
      for (const name of peerNames) {
        bench.progress(`turn ${turn + 1}: ${name}`)
        const serverPid = serverPids[name]
        const request = { addresses, amounts, turn, ...(serverPid && { serverPid }) }
        const sofar = measured.get(name) ?? []
        measured.set(name, [...sofar, await measureOne(name, request)])
      }
    }
    return measured
  } finally {
    await Promise.all([stack.stop(), embedded.stop(), servers.stop()])
    rmSync(directory, { recursive: true, force: true })
  }
}

const addressesOf = ({ dynamodbEndpoint, s3Endpoint }: StoreEndpoints) => ({
  dynamodbEndpoint,
  s3Endpoint,
})

async function measureOne(name: string, request: Request): Promise<Measured> {
  const argv = [MEASURE, name, JSON.stringify(request)]
  const { stdout } = await promisify(execFile)(process.execPath, argv, {
    timeout: PATIENCE_MS,
  })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Measured
}

type Figure = (measured: Measured) => number | undefined

/** NaN for a peer that we do not measure in this way. */
const median = (turns: Turns, name: string, figure: Figure): number =>
  quantile(
    (turns.get(name) ?? []).map((measured) => figure(measured) ?? Number.NaN),
    0.5,
  )

const pushSingly: Figure = ({ push }) => push.perSecond
const popSingly: Figure = ({ take }) => take.perSecond
const pushBulk: Figure = (measured) => measured.pushBulk.perSecond
const popBulk: Figure = ({ takeBulk }) => takeBulk.perSecond

function ratios(title: string, turns: Turns): Row[] {
  const { bar, info } = rowsOf(title)
  const of = (name: string, figure: Figure) => median(turns, name, figure)
  const ofPgBoss = (name: string, figure: Figure) => of(name, figure) / of('pg-boss', figure)
  const others = ['pg-boss', 'graphile-worker', 'BullMQ']
  const ofTheBest = (name: string, figure: Figure) =>
    of(name, figure) / Math.max(...others.map((other) => of(other, figure)))
  const aim = { aim: atLeast(1.2) }
  return [
    bar('push singly: times pg-boss', ofPgBoss('PushPop', pushSingly), atLeast(0.8), aim),
    bar('pop singly: times pg-boss', ofPgBoss('PushPop', popSingly), atLeast(1), aim),
    bar('bulk of 100, push: times the best', ofTheBest('PushPop', pushBulk), atLeast(1), aim),
    bar('bulk of 100, pop: times the best', ofTheBest('PushPop', popBulk), atLeast(1), aim),
    ...['bare updates', 'PushPop in memory'].flatMap((name) => [
      info(`${name}, push singly: times pg-boss`, ofPgBoss(name, pushSingly)),
      info(`${name}, pop singly: times pg-boss`, ofPgBoss(name, popSingly)),
      info(`${name}, bulk of 100, push: times the best`, ofTheBest(name, pushBulk)),
      info(`${name}, bulk of 100, pop: times the best`, ofTheBest(name, popBulk)),
    ]),
  ]
}

const shown: readonly (readonly [string, Figure])[] = [
  ['push singly, items/s', pushSingly],
  ['push singly: p50, ms', ({ push }) => push.p50Ms],
  ['push singly: p99, ms', ({ push }) => push.p99Ms],
  ['take and settle singly, items/s', popSingly],
  ['take and settle singly: p50, ms', ({ take }) => take.p50Ms],
  ['take and settle singly: p99, ms', ({ take }) => take.p99Ms],
  ['push 100 at once, items/s', pushBulk],
  ['take and settle 100 at once, items/s', popBulk],
  ['many tenants, push, items/s', ({ tenants }) => tenants?.pushPerSecond],
  ['many tenants, take and settle, items/s', ({ tenants }) => tenants?.takePerSecond],
  ['many idle tenants: requests/s', ({ idle }) => idle?.requestsPerSecond],
  ['many idle tenants: CPU, ms/s', ({ idle }) => idle?.cpuMsPerSecond],
  ['many idle tenants: memory of the client, MB', ({ idle }) => idle?.megabytes],
]

function figures(title: string, turns: Turns): Row[] {
  const { info } = rowsOf(title)
  return shown.flatMap(([metric, figure]) =>
    [...turns.keys()].map((column) => info(metric, median(turns, column, figure), { column })),
  )
}

type Servers = {
  readonly postgres: { readonly port: number; readonly pid: number }
  readonly redis: { readonly port: number; readonly pid: number }
  stop(): Promise<void>
}

type Programs = {
  readonly initdb: string
  readonly postgres: string
  readonly redis: string
}

/** Debian keeps PostgreSQL's programs out of the path. */
const DEBIAN = '/usr/lib/postgresql'
const REACHABLE_AFTER_MS_MAX = 15_000

/** The programs' paths, or the name of a missing one. */
function findPrograms(): Programs | { readonly missing: string } {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort().reverse() : []
  const folders = [
    ...(process.env.PATH ?? '').split(delimiter),
    ...versions.map((version) => join(DEBIAN, version, 'bin')),
  ]
  const find = (name: string) =>
    folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
  const [initdb, postgres, redis] = [find('initdb'), find('postgres'), find('redis-server')]
  if (initdb === undefined || postgres === undefined) return { missing: 'PostgreSQL' }
  if (redis === undefined) return { missing: 'Redis' }
  return { initdb, postgres, redis }
}

/**
 * PostgreSQL and Redis in a temporary folder, with the settings they come with for data that must last:
 * PostgreSQL waits for the disk at each commit, Redis appends to its file and flushes it every second.
 */
async function startServers({ initdb, postgres, redis }: Programs): Promise<Servers> {
  const folder = mkdtempSync(join(tmpdir(), 'pushpop-peers-'))
  const data = join(folder, 'postgres')
  mkdirSync(data)
  const owner = ownerOfData()
  if (owner !== undefined) for (const path of [folder, data]) chownSync(path, owner.uid, owner.gid)

  execFileSync(initdb, ['-D', data, '-U', 'bench', '--auth=trust', '--encoding=UTF8'], {
    stdio: 'ignore',
    ...owner,
  })
  const [postgresPort, redisPort] = [await freePort(), await freePort()]
  const servers = [
    spawn(postgres, ['-D', data, '-p', `${postgresPort}`, '-k', '', '-h', '127.0.0.1'], {
      stdio: 'ignore',
      ...owner,
    }),
    spawn(redis, ['--port', `${redisPort}`, '--dir', folder, '--appendonly', 'yes', '--save', ''], {
      stdio: 'ignore',
      ...owner,
    }),
  ] as const
  const [postgresProcess, redisProcess] = servers
  await Promise.all([reachable(postgresPort, postgresProcess), reachable(redisPort, redisProcess)])
  return {
    postgres: { port: postgresPort, pid: postgresProcess.pid as number },
    redis: { port: redisPort, pid: redisProcess.pid as number },
    async stop() {
      await Promise.all(servers.map(end))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** PostgreSQL refuses to run as root: then its data belong to the user that its package made. */
function ownerOfData(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres']).toString())
  return { uid: id('-u'), gid: id('-g') }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function reachable(port: number, server: ChildProcess): Promise<void> {
  const untilMs = performance.now() + REACHABLE_AFTER_MS_MAX
  while (performance.now() < untilMs && server.exitCode === null) {
    if (await answers(port)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`Cannot reach ${server.spawnfile} on port ${port}`)
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

/** PostgreSQL takes SIGINT as "end now, cleanly". */
const end = (server: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (server.exitCode !== null) return resolve()
    server.once('exit', () => resolve())
    server.kill('SIGINT')
  })
