// What keeps `npm start` from starting: one clear sentence each, and a code that says so.

import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import type { AddressInfo, Server } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { hasProc } from '../support/processes.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type Started, start, writeApp } from './a-start.ts'

let directory: string
let app: string
const running: Started[] = []

beforeAll(() => {
  directory = temporaryFolder()
  app = writeApp(join(directory, 'app'), { functions: {} })
})
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGTERM')
    await ended
  }
})

function startHere(args: readonly string[], env?: Record<string, string>): Started {
  const started = start(args, env)
  running.push(started)
  return started
}

async function refusalOf(args: readonly string[], env?: Record<string, string>) {
  const started = startHere(args, env)
  const code = await started.ended
  const text = started.stderr()
  expect(text, 'one line').toMatch(/^[^\n]+\n$/)
  return { code, text }
}

/** An app that is this program. */
function writeProgram(name: string, program: string): string {
  const folder = join(directory, name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{}')
  writeFileSync(join(folder, 'app.mjs'), program)
  return join(folder, 'app.mjs')
}

/** A server on a port whose neighbour below is free, where no system takes ports for those who ask for any. */
async function portBehindAFreeOne(): Promise<{ server: Server; port: number }> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const server = await listeningOn(port)
    const below = await listeningOn(port - 1)
    below?.close()
    if (server && below) return { server, port }
    server?.close()
  }
  throw new Error('No free port has a free one below it.')
}

async function listeningOn(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, '127.0.0.1')
  return once(server, 'listening').then(
    () => server,
    () => undefined,
  )
}

describe('npm start says what is wrong', () => {
  test('with its arguments', async () => {
    expect(await refusalOf(['--prot', '1'])).toEqual({
      code: 2,
      text: 'Cannot start because there is no option "--prot"; did you mean --port?; npm start -- --help lists what there is\n',
    })
  })

  test('when the port is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const port = String((server.address() as AddressInfo).port)
    expect(await refusalOf(['--port', port, '--memory', '--app', app])).toEqual({
      code: 1,
      text: `Cannot listen on port ${port} because something else listens there; choose another with --port\n`,
    })
    server.close()
  })

  test('when another stack has the data folder', async () => {
    const data = ['--data', join(directory, 'data'), '--app', app, '--port', '0']
    const first = startHere(data)
    const url = await first.url()
    const { code, text } = await refusalOf(data)
    expect(code).toBe(1)
    expect(text).toContain(`another stack (process ${first.pid}, ${url}) uses it`)
  })

  test('when the data folder is none', async () => {
    const file = join(directory, 'a-file')
    writeFileSync(file, '')
    const { code, text } = await refusalOf(['--data', file, '--app', app, '--port', '0'])
    expect(code).toBe(1)
    expect(text).toMatch(/^Cannot use the data folder .*a-file because of this: /)
  })

  test.each(['sqs.sqlite', 'lock.sqlite', 'dynamodb.sqlite'])(
    'when %s in the data folder is broken',
    async (file) => {
      const folder = join(directory, `broken-${file}`)
      mkdirSync(folder)
      // An empty one is a new database, and shows that the folder is ours.
      writeFileSync(join(folder, 'dynamodb.sqlite'), '')
      writeFileSync(join(folder, file), 'This is no database. '.repeat(100))
      const { code, text } = await refusalOf(['--data', folder, '--app', app, '--port', '0'])
      expect(code).toBe(1)
      expect(text).toContain(join(folder, file))
    },
  )

  test('when the data folder holds what is not ours', async () => {
    const folder = join(directory, 'photos')
    mkdirSync(folder)
    writeFileSync(join(folder, 'cat.jpg'), '')
    const { code, text } = await refusalOf(['--data', folder, '--app', app, '--port', '0'])
    expect(code).toBe(1)
    expect(text).toContain(
      `${folder} because it holds other files (cat.jpg); choose a new or an empty one with --data`,
    )
    expect(readdirSync(folder)).toEqual(['cat.jpg'])
  })

  test.skipIf(!hasProc)('when the data folder cannot be made', async () => {
    const { code, text } = await refusalOf(['--data', '/proc/x', '--app', app, '--port', '0'])
    expect(code).toBe(1)
    expect(text).toMatch(/^Cannot use the data folder \/proc\/x because of this: ENOENT/)
  })

  test('when the port behind it is in use, and another API needs that', async () => {
    const apis = writeApp(join(directory, 'apis'), {
      functions: {},
      resources: {
        Own: { Type: 'AWS::ApiGatewayV2::Api', Properties: { ProtocolType: 'HTTP' } },
      },
    })
    const { server, port: taken } = await portBehindAFreeOne()
    const { text } = await refusalOf(['--port', String(taken - 1), '--memory', '--app', apis])
    expect(text).toBe(
      `Cannot listen on port ${taken} for the API Own because something else listens there; ` +
        'the APIs have ports in a row, whose first you choose with --port\n',
    )
    server.close()
  })

  test('when npm took an option for itself', async () => {
    const env = { npm_config_port: '8102', npm_lifecycle_event: 'start' }
    expect(await refusalOf([], env)).toEqual({
      code: 2,
      text: 'Cannot start because npm took --port for itself; write npm start -- --port 8102\n',
    })
  })

  test('when there is no DynamoDB for this machine', async () => {
    const platform = "data:text/javascript,Object.defineProperty(process,'arch',{value:'sparc'})"
    const env = { NODE_OPTIONS: `--import ${platform}` }
    const { code, text } = await refusalOf(['--memory', '--app', app, '--port', '0'], env)
    expect(code).toBe(1)
    expect(text).toMatch(
      /^Cannot start the embedded DynamoDB because no @dynoxide binary is installed for \w+-sparc\. .*PUSHPOP_DYNAMODB_ENDPOINT/,
    )
  })

  test.each([
    ['there is no app', undefined, /because there is no such file$/],
    ['the app throws', 'throw new TypeError("a route twice")', /a route twice \(.*app\.mjs:1\)$/],
    ['the app is no JavaScript', 'export const', /Unexpected end of input \(.*app\.mjs:1\)$/],
    [
      'a bundle cannot be made',
      `console.error('x [ERROR] Could not resolve "left-pad"'); throw new Error('Build failed with 1 error:\\nlambdas/push.ts:3:7: ERROR: Could not resolve "left-pad"')`,
      /lambdas\/push\.ts:3:7: ERROR: Could not resolve "left-pad"$/,
    ],
    [
      'the app writes nothing',
      '',
      /it wrote no cloud assembly; it must be the file with `new App\(\)`, often in bin\/$/,
    ],
    [
      'the template is broken',
      templateOf('{"Resources":'),
      /^Cannot read the template .*Shop\.template\.json because of this: /,
    ],
    [
      'the template asks for what nobody knows',
      templateOf(
        '{"Resources":{"Table":{"Type":"AWS::DynamoDB::Table","Properties":{"KeySchema":{"Fn::Cidr":[]}}}}}',
      ),
      /does not know Fn::Cidr$/,
    ],
    [
      'DynamoDB does not take the table',
      templateOf('{"Resources":{"Table":{"Type":"AWS::DynamoDB::Table","Properties":{}}}}'),
      /^Cannot make the table Shop-Table because /,
    ],
  ])('when %s', async (name, program, says) => {
    const file = program === undefined ? '/nowhere/app.ts' : writeProgram(name, program)
    const { code, text } = await refusalOf(['--memory', '--port', '0', '--app', file])
    expect(code).toBe(1)
    expect(text.trimEnd()).toMatch(says)
    expect(text).not.toMatch(/\n\s+at /)
  })
})

function templateOf(text: string): string {
  return `
    import { writeFileSync } from 'node:fs'
    const write = (name, text) => writeFileSync(process.env.CDK_OUTDIR + '/' + name, text)
    write('manifest.json', JSON.stringify({ artifacts: {
      Shop: { type: 'aws:cloudformation:stack', properties: { templateFile: 'Shop.template.json' } },
    } }))
    write('Shop.template.json', ${JSON.stringify(text)})`
}
