import{f as e,t}from"./jsxRuntime.module.js";import{F as n,P as r,rt as i}from"./States.js";import{j as a}from"./app.js";var o=i(`
  query Archived {
    domains(archived: true, first: 1000) { edges { node { name } } }
    projects(archived: true, first: 1000) { edges { node { project_id } } }
    users(archived: true, first: 1000) { edges { node { user_uuid } } }
  }
`);function s(){let{data:e}=a(o,r()||n.value?.resource_groups?null:{},!1);if(!e)return()=>!1;let t=new Set(e.domains.edges.map(({node:e})=>e.name)),i=new Set(e.projects.edges.map(({node:e})=>e.project_id)),s=new Set(e.users.edges.map(({node:e})=>e.user_uuid));return({domain_name:e,project_id:n,user_uuid:r})=>t.has(e??``)||i.has(n??``)||s.has(r??``)}function c({is:n}){return n?t(e,{children:[` `,t(`span`,{class:`pill`,title:`Left out of lists and rankings by an admin. Usage, weights and ranks stay as they are.`,children:`archived`})]}):null}export{s as n,c as t};