import { AccountPrincipal, Role } from 'aws-cdk-lib/aws-iam'
import { Token } from 'aws-cdk-lib/core'
import { describe, expect, it } from 'vitest'
import { aService } from './synthesised.ts'

function shop() {
  const { stack, service, look } = aService({}, 'Orders')
  const caller = new Role(stack, 'Caller', { assumedBy: new AccountPrincipal('123456789012') })
  return { service, caller, look }
}

/** What no compiler has checked. */
const plain = (ids: unknown) => ids as readonly string[]

describe('A grant', () => {
  it.each([
    [
      ['orders', 'a b'],
      'no queue can be "a b": write 1 to 100 of the characters A-Z a-z 0-9 . _ - and not . or .., and "*" for any others',
    ],
    [['device:'], 'no queue can be "device:"'],
    [['device:*'], 'no queue can be "device:*"'],
    [['x'.repeat(101)], `no queue can be "${'x'.repeat(101)}"`],
    [[5], 'no queue can be 5'],
    [[], '`queues` is empty: leave it out to grant all of them'],
    ['orders', '`queues` must be a list, and is "orders": write ["orders"]'],
  ])('for what no queue is called is refused: %j.', (ids, reason) => {
    const { service, caller } = shop()
    expect(() => service.grantPush(caller, plain(ids))).toThrow(
      `Cannot grant "push" because ${reason}`,
    )
    expect(() => service.grantPop(caller, plain(ids))).toThrow(
      `Cannot grant "pop" because ${reason}`,
    )
    expect(() => service.grantInspect(caller, plain(ids))).toThrow('Cannot grant "inspect" because')
    expect(() => service.grantManage(caller, plain(ids))).toThrow('Cannot grant "manage" because')
  })

  it('for what no rate limit is called is refused too.', () => {
    const { service, caller } = shop()
    expect(() => service.grantRate(caller, ['user 7'])).toThrow(
      'Cannot grant "rate" because no key can be "user 7"',
    )
  })

  it.each([
    'orders',
    'orders-deadletter',
    'tenant-7.*',
    '*',
    'tenant-?',
    '$' + '{aws:PrincipalTag/tenant}.*',
  ])('may be for %j.', (id) => {
    const { service, caller } = shop()
    expect(() => service.grantPop(caller, [id])).not.toThrow()
  })

  it('may be for a queue whose id only the deployment knows.', () => {
    const { service, caller, look } = shop()
    service.grantPop(caller, [Token.asString({ Ref: 'Queue' })])
    expect(() => look()).not.toThrow()
  })
})
