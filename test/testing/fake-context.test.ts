import type { Context } from 'aws-lambda'
import { describe, expect, it } from 'vitest'
import { fakeContext } from '../../testing/index.ts'

describe('A fake context', () => {
  it('is a context of Lambda, each of another request.', () => {
    const context: Context = fakeContext({ functionName: 'Ship', memoryMb: 512 })
    expect(context).toMatchObject({ functionName: 'Ship', memoryLimitInMB: '512' })
    expect(context.invokedFunctionArn).toMatch(/:function:Ship$/)
    expect(context.awsRequestId).not.toBe(fakeContext().awsRequestId)
  })

  it('asks for the lines that PUSHPOP_LOG_LEVEL names, and for warnings if it names none.', () => {
    const saved = process.env.PUSHPOP_LOG_LEVEL
    try {
      process.env.PUSHPOP_LOG_LEVEL = 'INFO'
      expect(fakeContext().logLevel).toBe('info')
      expect(fakeContext({ logLevel: 'error' }).logLevel).toBe('error')
      process.env.PUSHPOP_LOG_LEVEL = 'loud'
      expect(fakeContext().logLevel).toBe('warn')
    } finally {
      if (saved === undefined) delete process.env.PUSHPOP_LOG_LEVEL
      else process.env.PUSHPOP_LOG_LEVEL = saved
    }
  })

  it('counts the remaining time down, and never below zero.', async () => {
    // As a handler may take it, without the object.
    const { getRemainingTimeInMillis } = fakeContext({ timeoutSeconds: 3 })
    const first = getRemainingTimeInMillis()
    expect(first).toBeLessThanOrEqual(3_000)
    expect(first).toBeGreaterThan(0)
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(getRemainingTimeInMillis()).toBeLessThan(first)
    expect(fakeContext({ timeoutSeconds: 0 }).getRemainingTimeInMillis()).toBe(0)
  })
})
