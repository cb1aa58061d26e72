// What is sent to an address: a signature, a token, or nothing.

import { writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { beforeEach, describe, expect, test } from 'vitest'
import { spawnCli } from './a-run.ts'
import { useFolder, useServer } from './places.ts'

let seen: IncomingHttpHeaders[] = []
const file = useFolder()
const endpoint = useServer((request, response) => {
  seen.push(request.headers)
  response.setHeader('content-type', 'application/json')
  response.end('{"items":[],"count":0,"details":[]}')
})
beforeEach(() => {
  seen = []
})

const clean = {
  AWS_ACCESS_KEY_ID: '',
  AWS_SECRET_ACCESS_KEY: '',
  AWS_SESSION_TOKEN: '',
  AWS_REGION: '',
  AWS_EC2_METADATA_DISABLED: 'true',
}

async function pop(options: readonly string[], env: Record<string, string>) {
  const popped = spawnCli(['pop', 'q', '--endpoint', endpoint(), ...options], { ...clean, ...env })
  const code = await popped.ended
  return { code, stderr: popped.stderr(), authorization: seen[0]?.authorization }
}

describe('a call', () => {
  test('to this machine says nothing of who asks', async () => {
    expect(await pop([], {})).toMatchObject({ code: 3, authorization: undefined })
  })

  test('carries the token', async () => {
    const env = { PUSHPOP_TOKEN: 'abc' }
    expect(await pop([], env)).toMatchObject({ code: 3, authorization: 'Bearer abc' })
  })

  test('is signed with the credentials of an AWS profile', async () => {
    const credentials = file('credentials')
    writeFileSync(
      credentials,
      '[shop]\naws_access_key_id = AKIASHOP\naws_secret_access_key = secret\n',
    )
    const { code, authorization } = await pop(
      ['--auth', 'iam', '--profile', 'shop', '--region', 'eu-west-1'],
      { AWS_SHARED_CREDENTIALS_FILE: credentials },
    )
    expect(code).toBe(3)
    expect(authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIASHOP\/\d{8}\/eu-west-1\/execute-api\/aws4_request,/,
    )
  })

  test('without credentials, or without a region, is not sent', async () => {
    const missing = await pop(['--auth', 'iam', '--region', 'eu-west-1'], { HOME: file('') })
    expect(missing).toMatchObject({ code: 4, authorization: undefined })
    expect(missing.stderr).toContain('Cannot find AWS credentials')
    const nowhere = await pop(['--auth', 'iam'], {})
    expect(nowhere).toMatchObject({ code: 2, authorization: undefined })
    expect(nowhere.stderr).toContain('its name tells no AWS region; give --region')
  })

  test('to a table without a region, or one that is not there, says so', async () => {
    const env = { ...clean, HOME: file(''), AWS_CONFIG_FILE: file('none') }
    const nowhere = spawnCli(['stats', '--table', 't', '--bucket', 'b'], env)
    expect(await nowhere.ended).toBe(2)
    expect(nowhere.stderr()).toContain('Cannot tell the AWS region')
    const nobody = spawnCli(
      ['stats', '--table', 't', '--bucket', 'b', '--region', 'eu-west-1'],
      env,
    )
    expect(await nobody.ended).toBe(4)
    expect(nobody.stderr()).toContain('Cannot find AWS credentials')
  })
})
