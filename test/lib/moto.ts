import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** A Python program; nothing but Node and npm may be needed, so whoever uses it skips without it. */
export const isMotoInstalled = spawnSync('moto_server', ['--help']).status === 0

export type Moto = {
  /** By name, not by number: moto takes a template's address for path-style only if it says so. */
  readonly endpoint: string
  /** One request of a service's query API, answered in XML. */
  query(service: string, parameters: Record<string, string>): Promise<string>
  /** One GET of a service's REST API. */
  get(service: string, path: string): Promise<unknown>
  stop(): Promise<void>
}

export const account = '123456789012'
export const region = 'eu-central-1'

/** Ends with whoever started it, however that ends: the shell waits for the pipe to close. */
const script = 'moto_server -H localhost -p "$0" >/dev/null 2>&1 & read -r _; kill -9 $!; wait'

export async function startMoto(): Promise<Moto> {
  const port = await freePort()
  const shell = spawn('sh', ['-c', script, String(port)], { stdio: ['pipe', 'ignore', 'ignore'] })
  const endpoint = `http://localhost:${port}`
  const stop = async (): Promise<void> => {
    if (shell.exitCode !== null) return
    shell.stdin.end()
    await once(shell, 'exit')
  }
  const deadlineMs = Date.now() + 30_000
  while (!(await answers(endpoint))) {
    if (Date.now() > deadlineMs) {
      await stop()
      throw new Error('Cannot test the deployment because moto_server did not answer in 30 s')
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  // moto tells services apart by what a signature would name.
  const signedFor = (service: string) => ({
    authorization: `AWS4-HMAC-SHA256 Credential=key/20300101/${region}/${service}/aws4_request, SignedHeaders=host, Signature=none`,
  })
  return {
    endpoint,
    stop,
    async query(service, parameters) {
      const body = new URLSearchParams(parameters)
      const headers = signedFor(service)
      return (await fetch(endpoint, { method: 'POST', headers, body })).text()
    },
    async get(service, path) {
      return (await fetch(`${endpoint}${path}`, { headers: signedFor(service) })).json()
    },
  }
}

const answers = (endpoint: string): Promise<boolean> =>
  fetch(`${endpoint}/moto-api/`).then(
    ({ ok }) => ok,
    () => false,
  )

async function freePort(): Promise<number> {
  const server = createServer().listen(0, 'localhost')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
