import { describe, expect, test } from 'vitest'
import type { StackTemplate, Template } from '../../../local/template/assembly.ts'
import { Resources } from '../../../local/template/resources.ts'

const others: Template['Resources'] = {
  Table: { Type: 'AWS::DynamoDB::Table' },
  Named: { Type: 'AWS::DynamoDB::Table', Properties: { TableName: 'orders' } },
  Bucket: { Type: 'AWS::S3::Bucket' },
}

/** A property with this value, resolved. */
function resolved(value: unknown, more: Partial<Template> = {}, stacks: StackTemplate[] = []) {
  const template = {
    ...more,
    Resources: { ...others, It: { Type: 'Custom::It', Properties: { value } } },
  }
  const all = new Resources([...stacks, { stackName: 'Shop', template, directory: '/out' }])
  return all.ofType('Custom::It')[0]?.property('value')
}

const placeholder = (name: string) => `\${${name}}`

describe('a property of a template', () => {
  test.each([
    {
      name: 'plain values stay',
      value: { a: [1, 'x', true, null] },
      result: { a: [1, 'x', true, null] },
    },
    { name: 'Ref of a table is its name', value: { Ref: 'Table' }, result: 'Shop-Table' },
    { name: 'a name that the template gives is kept', value: { Ref: 'Named' }, result: 'orders' },
    { name: 'a bucket has no capitals', value: { Ref: 'Bucket' }, result: 'shop-bucket' },
    {
      name: 'GetAtt takes a list',
      value: { 'Fn::GetAtt': ['Table', 'Arn'] },
      result: 'arn:aws:dynamodb:us-east-1:123456789012:table/Shop-Table',
    },
    {
      name: 'GetAtt takes a path',
      value: { 'Fn::GetAtt': 'Table.StreamArn' },
      result: 'arn:aws:dynamodb:us-east-1:123456789012:table/Shop-Table/stream/local',
    },
    {
      name: 'Join resolves its parts',
      value: { 'Fn::Join': ['-', ['a', { Ref: 'Table' }, { Ref: 'AWS::Region' }]] },
      result: 'a-Shop-Table-us-east-1',
    },
    {
      name: 'Sub knows resources, attributes, its own names and a literal',
      value: {
        'Fn::Sub': [
          ['Table', 'Named.Arn', 'own', 'AWS::StackName', '!Table'].map(placeholder).join('|'),
          { own: 'o' },
        ],
      },
      result: `Shop-Table|arn:aws:dynamodb:us-east-1:123456789012:table/orders|o|Shop|${placeholder('Table')}`,
    },
    {
      name: 'Select of a Split',
      value: { 'Fn::Select': [1, { 'Fn::Split': ['/', 'a/b/c'] }] },
      result: 'b',
    },
    {
      name: 'NoValue takes a property away',
      value: { a: { Ref: 'AWS::NoValue' }, b: 1 },
      result: { b: 1 },
    },
    { name: 'NoValue takes an entry away', value: [{ Ref: 'AWS::NoValue' }, 1], result: [1] },
    { name: 'Base64', value: { 'Fn::Base64': 'hi' }, result: 'aGk=' },
  ])('$name', ({ value, result }) => {
    expect(resolved(value)).toEqual(result)
  })

  test('parameters by their defaults, mappings and conditions', () => {
    const more = {
      Parameters: { Stage: { Default: 'dev' } },
      Mappings: { Sizes: { dev: { memory: 128 } } },
      Conditions: {
        IsDev: { 'Fn::Equals': [{ Ref: 'Stage' }, 'dev'] },
        IsOther: { 'Fn::Not': [{ Condition: 'IsDev' }] },
        Both: { 'Fn::And': [{ Condition: 'IsDev' }, { Condition: 'IsOther' }] },
        Either: { 'Fn::Or': [{ Condition: 'IsDev' }, { Condition: 'IsOther' }] },
      },
    }
    expect(resolved({ Ref: 'Stage' }, more)).toBe('dev')
    expect(resolved({ 'Fn::FindInMap': ['Sizes', { Ref: 'Stage' }, 'memory'] }, more)).toBe(128)
    for (const [condition, result] of Object.entries({
      IsDev: 1,
      IsOther: 2,
      Both: 2,
      Either: 1,
    })) {
      expect(resolved({ 'Fn::If': [condition, 1, 2] }, more)).toBe(result)
    }
  })

  test('what another stack of the app exports', () => {
    const exporting: StackTemplate = {
      stackName: 'Base',
      directory: '/out',
      template: {
        Resources: { Bus: { Type: 'AWS::Events::EventBus' } },
        Outputs: { Bus: { Value: { Ref: 'Bus' }, Export: { Name: 'base-bus' } } },
      },
    }
    expect(resolved({ 'Fn::ImportValue': 'base-bus' }, {}, [exporting])).toBe('Base-Bus')
  })

  test.each([
    { name: 'a resource that is not there', value: { Ref: 'Nobody' }, says: /mentions Nobody/ },
    {
      name: 'an unknown attribute',
      value: { 'Fn::GetAtt': ['Table', 'Colour'] },
      says: /no attribute Colour of Table/,
    },
    {
      name: 'an unknown function',
      value: { 'Fn::Cidr': ['10.0.0.0/8', 4] },
      says: /does not know Fn::Cidr/,
    },
    { name: 'an export that nobody makes', value: { 'Fn::ImportValue': 'x' }, says: /exports x/ },
  ])('$name is one sentence', ({ value, says }) => {
    expect(() => resolved(value)).toThrow(says)
  })

  test('a resource whose condition is false is not there', () => {
    const template: Template = {
      Conditions: { Never: { 'Fn::Equals': ['a', 'b'] } },
      Resources: { Table: { Type: 'AWS::DynamoDB::Table', Condition: 'Never' } },
    }
    const all = new Resources([{ stackName: 'Shop', template, directory: '/out' }])
    expect(all.ofType('AWS::DynamoDB::Table')).toEqual([])
  })
})
