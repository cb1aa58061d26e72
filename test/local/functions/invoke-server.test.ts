import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { invokeFunction } from '../../../lambdas/background/call-wake.ts'
import { startInvokeServer } from '../../../local/functions/async-invoker.ts'
import type { LocalServer } from '../../../local/loopback.ts'
import type { FunctionPlan } from '../../../local/template/plan-functions.ts'
import { breakOff } from '../raw-request.ts'

const plan = { name: 'Stack-Wake', arn: 'arn:aws:lambda:x:1:function:Stack-Wake' } as FunctionPlan
const submitted: string[] = []
let server: LocalServer

beforeAll(async () => {
  server = await startInvokeServer([plan], {
    submit: (arn, event) => submitted.push(`${arn} ${event}`),
  })
})
afterAll(() => server.stop())

const event = { 'x-amz-invocation-type': 'Event' }
const invoke = (name: string, headers: Record<string, string>, body = '{}', path = '') =>
  fetch(`${server.endpoint}/2015-03-31/functions/${name}/invocations${path}`, {
    method: 'POST',
    headers,
    body,
  })

describe('Invoke on one machine', () => {
  it('goes on when a function dies in the middle of its call.', async () => {
    await breakOff(server.endpoint, `/2015-03-31/functions/${plan.name}/invocations`, {
      'x-amz-invocation-type': 'Event',
    })
    expect((await invoke('Other', event)).status).toBe(404)
    expect(submitted).toEqual([])
  })

  it('takes an event for a function of the stack, as our functions send it.', async () => {
    const environment = { AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_LAMBDA: server.endpoint }
    const before = { ...process.env }
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'k', AWS_SECRET_ACCESS_KEY: 's' })
    try {
      await invokeFunction(plan.name, environment)({ untilMs: 17 })
    } finally {
      // In its place: an ordinary object would not be the environment of the process.
      for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
      Object.assign(process.env, before)
    }
    expect(submitted).toEqual([`${plan.arn} {"untilMs":17}`])
    const answer = await invoke(encodeURIComponent(plan.arn), { 'x-amz-invocation-type': 'Event' })
    expect([answer.status, await answer.text()]).toEqual([202, ''])
  })

  it.each([
    ['a call that waits for an answer', plan.name, {}, '{}', '', 400, 'nobody waits for'],
    ['a function that is not there', 'Other', event, '{}', '', 404, 'no function Other'],
    ['an event that is no JSON', plan.name, event, '{', '', 400, 'must be JSON'],
    [
      'an event of more than 1 MiB',
      plan.name,
      event,
      `"${'x'.repeat(1_048_576)}"`,
      '',
      413,
      '1 MiB',
    ],
    ['a name that nobody can read', '%E0%A4%A', event, '{}', '', 404, 'no function %E0%A4%A'],
    ['a version', plan.name, event, '{}', '?Qualifier=1', 404, 'without a qualifier'],
    ['a web page', plan.name, { ...event, origin: 'http://x' }, '{}', '', 403, 'not for web pages'],
  ])('refuses %s in one sentence.', async (_, name, headers, body, path, status, sentence) => {
    const answer = await invoke(name, headers as Record<string, string>, body, path)
    expect(answer.status).toBe(status)
    expect(await answer.json()).toMatchObject({ message: expect.stringContaining(sentence) })
  })
})
