// A headless Chromium, driven by its own protocol over a WebSocket: no dependency for one test.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export type Page = {
  open(url: string): Promise<void>
  /** The value of an expression, awaited; throws what the page throws. */
  evaluate(expression: string): Promise<unknown>
}

export type Chromium = { readonly page: Page; stop(): Promise<void> }

const places = [
  process.env.PUSHPOP_CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

export const findChromium = (): string | undefined =>
  places.find((it) => it !== undefined && existsSync(it))

export async function startChromium(file: string, args: readonly string[]): Promise<Chromium> {
  const profile = mkdtempSync(join(tmpdir(), 'pushpop-chromium-'))
  const child = spawn(
    file,
    [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--no-first-run',
      '--remote-debugging-port=0',
      `--user-data-dir=${profile}`,
      ...args,
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const socket = await connect(await addressOf(child))
  const { targetInfos } = (await socket.send('Target.getTargets')) as {
    targetInfos: { type: string; targetId: string }[]
  }
  const targetId = targetInfos.find(({ type }) => type === 'page')?.targetId
  const attached = await socket.send('Target.attachToTarget', { targetId, flatten: true })
  const { sessionId } = attached as { sessionId: string }
  await socket.send('Page.enable', {}, sessionId)
  return {
    page: {
      async open(url) {
        const loaded = socket.event('Page.loadEventFired')
        await socket.send('Page.navigate', { url }, sessionId)
        await loaded
      },
      async evaluate(expression) {
        const options = { expression, awaitPromise: true, returnByValue: true }
        const { result, exceptionDetails } = (await socket.send(
          'Runtime.evaluate',
          options,
          sessionId,
        )) as Evaluated
        if (exceptionDetails === undefined) return result.value
        throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
      },
    },
    async stop() {
      const closed = once(child, 'close')
      await socket.send('Browser.close').catch(() => child.kill('SIGKILL'))
      await closed
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

type Evaluated = {
  readonly result: { readonly value?: unknown }
  readonly exceptionDetails?: {
    readonly text: string
    readonly exception?: { readonly description?: string }
  }
}

async function addressOf(child: ChildProcess): Promise<string> {
  const said: string[] = []
  for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
    said.push(line)
    const address = /DevTools listening on (ws:\S+)/.exec(line)?.[1]
    if (address === undefined) continue
    child.stderr?.resume()
    return address
  }
  throw new Error(`Chromium did not start:\n${said.join('\n')}`)
}

type Message = {
  readonly id?: number
  readonly method?: string
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

async function connect(address: string) {
  const socket = new WebSocket(address)
  const open = new Map<number, (message: Message) => void>()
  const awaited = new Map<string, () => void>()
  let sent = 0
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message
    if (message.id !== undefined) open.get(message.id)?.(message)
    else if (message.method !== undefined) awaited.get(message.method)?.()
  })
  // A browser that ends may close the socket before it has answered.
  socket.addEventListener('close', () => {
    const error = { message: 'the browser has ended' }
    for (const answer of [...open.values()]) answer({ error })
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  return {
    send(method: string, params: object = {}, sessionId?: string): Promise<unknown> {
      const id = ++sent
      socket.send(JSON.stringify({ id, method, params, sessionId }))
      return new Promise((resolve, reject) => {
        open.set(id, ({ result, error }) => {
          open.delete(id)
          if (error === undefined) resolve(result)
          else reject(new Error(`${method}: ${error.message}`))
        })
      })
    },
    event: (method: string) =>
      new Promise<void>((resolve) => {
        awaited.set(method, resolve)
      }),
  }
}
