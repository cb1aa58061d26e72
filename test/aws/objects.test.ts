import { NoSuchKey, S3ServiceException } from '@aws-sdk/client-s3'
import { describe, expect, it } from 'vitest'
import { Objects } from '../../aws/objects.ts'

const s3Error = (name: string, httpStatusCode: number) =>
  new S3ServiceException({ name, message: '', $fault: 'server', $metadata: { httpStatusCode } })

const body = (text: string) => ({
  Body: { transformToByteArray: async () => new Uint8Array(Buffer.from(text)) },
})

const scripted = (...answers: (Error | object)[]) => scriptedAfter(0, ...answers)

/** A store that takes so long for each answer. */
function scriptedAfter(answerMs: number, ...answers: (Error | object)[]) {
  const sent: { name: string; input: Record<string, unknown> }[] = []
  let slept = 0
  const port = {
    async send(command: never) {
      const { input } = command as { input: Record<string, unknown> }
      const answer = answers[Math.min(sent.length, answers.length - 1)] ?? {}
      sent.push({ name: (command as object).constructor.name, input })
      if (answer instanceof Error) throw answer
      return answer
    },
  }
  const clock = {
    nowMs: () => sent.length * answerMs + slept,
    sleep: async (ms: number) => {
      slept += ms
    },
  }
  const source = async () => port
  const denied: string[] = []
  const objects = new Objects(
    source,
    'bucket',
    clock,
    () => 0.5,
    (_, key) => denied.push(key),
  )
  return { objects, sent, denied, sleptMs: () => slept }
}

describe('An object', () => {
  it('is read whole, or a range of it.', async () => {
    const { objects, sent } = scripted(body('text'))
    expect(Buffer.from((await objects.get('key')) ?? []).toString()).toBe('text')
    await objects.get('key', { from: 10, to: 20 })
    expect(sent.map(({ input }) => input.Range)).toEqual([undefined, 'bytes=10-19'])
  })

  it('that does not exist is undefined, without a second look.', async () => {
    const missing = new NoSuchKey({ message: '', $metadata: { httpStatusCode: 404 } })
    const { objects, sent } = scripted(missing)
    expect(await objects.get('key')).toBeUndefined()
    expect(sent).toHaveLength(1)
  })

  it('is asked for again after a fault, also one in the middle of its body.', async () => {
    const broken = {
      Body: { transformToByteArray: () => Promise.reject(new Error('aborted')) },
    }
    const { objects, sent } = scripted(s3Error('SlowDown', 503), broken, body('text'))
    expect(Buffer.from((await objects.get('key')) ?? []).toString()).toBe('text')
    expect(sent).toHaveLength(3)
  })

  it('of a store that stays away is unavailable, soon.', async () => {
    const { objects, sent, sleptMs } = scripted(s3Error('InternalError', 500))
    await expect(objects.get('key')).rejects.toMatchObject({ code: 'SEGMENT_UNAVAILABLE' })
    await expect(objects.put('key', new Uint8Array())).rejects.toMatchObject({
      code: 'SEGMENT_UNAVAILABLE',
    })
    expect(sent.length).toBeLessThanOrEqual(10)
    expect(sleptMs()).toBeLessThan(2_000)
  })

  it('of a store that hangs is asked for twice, so that the caller hears of it in time.', async () => {
    const { objects, sent } = scriptedAfter(10_000, new Error('no answer within 10000 ms'))
    await expect(objects.get('key')).rejects.toMatchObject({ code: 'SEGMENT_UNAVAILABLE' })
    expect(sent).toHaveLength(2)
  })

  it('of a store that hangs is given up before the time of its caller is up.', async () => {
    let sent = 0
    const port = {
      send: async () => {
        sent += 1
        await new Promise(() => {})
      },
    }
    const clock = { nowMs: () => Date.now(), sleep: async () => {} }
    const objects = new Objects(
      port,
      'bucket',
      clock,
      () => 0.5,
      () => {},
    ).until(Date.now() + 400)
    await expect(objects.put('key', new Uint8Array())).rejects.toMatchObject({
      code: 'SEGMENT_UNAVAILABLE',
    })
    expect(sent).toBeGreaterThan(0)
  })

  it('of a store is not asked for when the time of its caller is up.', async () => {
    const { objects, sent } = scripted(body('text'))
    const bounded = objects.until(0)
    await expect(bounded.get('key')).rejects.toMatchObject({ code: 'SEGMENT_UNAVAILABLE' })
    expect(sent).toHaveLength(0)
  })

  it('of a store that is bounded twice has the earlier time.', async () => {
    const { objects, sent } = scripted(body('text'))
    for (const bounded of [objects.until(0).until(9_000), objects.until(9_000).until(0)]) {
      await expect(bounded.get('key')).rejects.toMatchObject({ code: 'SEGMENT_UNAVAILABLE' })
    }
    expect(sent).toHaveLength(0)
  })

  it('is undefined if S3 answers 403, as it does for a missing key, and somebody hears of it.', async () => {
    const { objects, sent, denied } = scripted(s3Error('AccessDenied', 403))
    expect(await objects.get('key')).toBeUndefined()
    expect(denied).toEqual(['key'])
    const put = objects.put('key', new Uint8Array())
    await expect(put).rejects.toMatchObject({ name: 'AccessDenied' })
    expect(sent).toHaveLength(2)
  })
})

describe('Deleting', () => {
  it('takes 1,000 at a time, and nothing for none.', async () => {
    const { objects, sent } = scripted({})
    await objects.deleteMany([])
    await objects.deleteMany(Array.from({ length: 2_500 }, (_, n) => `key-${n}`))
    expect(
      sent.map(({ input }) => (input.Delete as { Objects: unknown[] }).Objects.length),
    ).toEqual([1_000, 1_000, 500])
  })

  it('goes on for two seconds more, so that a call can clean up behind itself.', async () => {
    const { objects, sent } = scripted({})
    await objects.until(-1_000).cleaningUp().deleteMany(['key'])
    const late = objects.until(-2_000).cleaningUp().deleteMany(['key'])
    await expect(late).rejects.toMatchObject({ code: 'SEGMENT_UNAVAILABLE' })
    expect(sent).toHaveLength(1)
  })

  it('does not pass over what S3 could not delete.', async () => {
    const { objects } = scripted({ Errors: [{ Key: 'a', Code: 'InternalError' }] })
    await expect(objects.deleteMany(['a', 'b'])).rejects.toMatchObject({
      code: 'SEGMENT_UNAVAILABLE',
    })
  })
})
