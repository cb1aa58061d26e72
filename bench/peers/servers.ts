// PostgreSQL and Redis in a temporary folder, with the settings they come with for data that must last:
// PostgreSQL waits for the disk at each commit, Redis appends to its file and flushes it every second.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

export type Servers = {
  readonly postgres: { readonly port: number; readonly pid: number }
  readonly redis: { readonly port: number; readonly pid: number }
  stop(): Promise<void>
}

export type Programs = {
  readonly initdb: string
  readonly postgres: string
  readonly redis: string
}

/** Debian keeps PostgreSQL's programs out of the path. */
const DEBIAN = '/usr/lib/postgresql'
const PATIENCE_MS = 15_000

/** The programs' paths, or the name of a missing one. */
export function findPrograms(): Programs | { readonly missing: string } {
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

export async function startServers({ initdb, postgres, redis }: Programs): Promise<Servers> {
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
  const untilMs = performance.now() + PATIENCE_MS
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
