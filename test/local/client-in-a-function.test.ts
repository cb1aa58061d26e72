import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, expect, test } from 'vitest'
import { makeWorkplace } from './a-stack.ts'

const workplace = makeWorkplace()
afterAll(() => workplace.cleanUp())

const root = join(import.meta.dirname, '../..')

/** The client as docs/package.md makes it, bundled with the handler that follows it. */
async function bundled(handler: string): Promise<string> {
  const page = readFileSync(join(root, 'docs/package.md'), 'utf8')
  const blocks = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code)
  const shown = blocks.find((block) => block.includes('fromNodeProviderChain()'))
  if (shown === undefined) throw new Error('docs/package.md shows no client that signs')
  // Here is only the package that the page's one takes the chain from, under its own name.
  const contents = shown.replace(
    "{ fromNodeProviderChain } from '@aws-sdk/credential-providers'",
    "{ defaultProvider as fromNodeProviderChain } from '@aws-sdk/credential-provider-node'",
  )
  const { outputFiles } = await build({
    stdin: { contents: contents + handler, loader: 'ts', resolveDir: root },
    alias: { 'pushpop/client': join(root, 'client/index.ts') },
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)",
    },
  })
  return outputFiles[0]?.text ?? ''
}

test('A function on the local stack reaches the service with the client that the package’s page shows.', async () => {
  const address = {
    'Fn::Join': ['', ['https://', { Ref: 'Api' }, '.execute-api.us-east-1.amazonaws.com']],
  }
  const stack = await workplace.start({
    functions: {
      Checkout: {
        code: await bundled(
          "export const handler = async () => (await client.queue('orders').push({ order: 17 })).id",
        ),
        properties: { Environment: { Variables: { PUSHPOP_URL: address } } },
      },
      Push: {
        code: `export const handler = async ({ headers }) => {
          const isSigned = /Credential=S3RVER.*us-east-1.execute-api/.test(headers.authorization)
          return { success: true, items_pushed: 1, ids: [isSigned ? 'signed' : 'not signed'] }
        }`,
      },
    },
    routes: { 'POST /checkout': 'Checkout', 'POST /queue/{id}/push': 'Push' },
  })
  const answer = await fetch(`${stack.url}/checkout`, { method: 'POST' })
  expect(await answer.text()).toBe('signed')
})
