// Solidity compiled by solc and run in @ethereumjs/evm, without a chain around it.
import { Chain, Common, Hardfork } from '@ethereumjs/common';
import { EVM } from '@ethereumjs/evm';
import solc from 'solc';

import { eip2537 } from './eip2537.mjs';

// {code: deployed bytecode, selector of each function by signature}; fails on any warning.
export function compile(source, contract) {
  const input = {
    language: 'Solidity',
    sources: { 'verifier.sol': { content: source } },
    settings: {
      optimizer: { enabled: true, runs: 200 },
      outputSelection: { '*': { '*': ['evm.deployedBytecode.object', 'evm.methodIdentifiers'] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  if (output.errors) throw new Error(output.errors.map((e) => e.formattedMessage).join('\n'));
  const { evm } = output.contracts['verifier.sol'][contract];
  return {
    code: Buffer.from(evm.deployedBytecode.object, 'hex'),
    selectors: evm.methodIdentifiers,
  };
}

const common = new Common({ chain: Chain.Mainnet, hardfork: Hardfork.Prague });

let machine;

// Runs code with call data: {ok, data, gas}.
export async function call(code, data) {
  machine ??= await EVM.create({ common, customPrecompiles: eip2537 });
  const result = await machine.runCode({ code, data, gasLimit: 30_000_000n });
  return {
    ok: result.exceptionError === undefined,
    data: Buffer.from(result.returnValue),
    gas: result.executionGasUsed,
  };
}

// Call data of a function whose arguments are static arrays of words, at any depth.
export function encode(selector, ...args) {
  const words = args.flat(Infinity).map((v) => BigInt(v).toString(16).padStart(64, '0'));
  return Buffer.from(selector + words.join(''), 'hex');
}
