import{J as e,K as t,L as n,T as r,q as i,st as a}from"./app.js";var o=e(`
  query Archived {
    domains(archived: true, first: 1000) { edges { node { name } } }
    projects(archived: true, first: 1000) { edges { node { project_id } } }
    users(archived: true, first: 1000) { edges { node { user_uuid } } }
  }
`);function s(){let{data:e}=n(o,t()||i.value?.resource_groups?null:{},!1);if(!e)return()=>!1;let r=new Set(e.domains.edges.map(({node:e})=>e.name)),a=new Set(e.projects.edges.map(({node:e})=>e.project_id)),s=new Set(e.users.edges.map(({node:e})=>e.user_uuid));return({domain_name:e,project_id:t,user_uuid:n})=>r.has(e??``)||a.has(t??``)||s.has(n??``)}function c({is:e}){return e?r(a,{children:[` `,r(`span`,{class:`pill`,title:`Left out of lists and rankings by an admin. Usage, weights and ranks stay as they are.`,children:`archived`})]}):null}export{s as n,c as t};